-- What people see who look at the file themselves: a call that was refused or denied,
-- whoever did that, was not allowed; and what belongs to a call has its trace. The
-- tables stay as they are.

-- +goose Up
PRAGMA user_version = 2;

DROP VIEW tool_calls;
CREATE VIEW tool_calls AS
SELECT
    seq AS id,
    id AS event_id,
    strftime('%Y-%m-%dT%H:%M:%S', intent_at / 1000000, 'unixepoch') || printf('.%06dZ', intent_at % 1000000) AS timestamp,
    CASE WHEN status IN ('ok', 'input') THEN 'responded' WHEN status = 'dispatched' THEN 'requested' ELSE 'error' END AS status,
    request_id AS call_id,
    tool AS tool_name,
    request_preview AS arguments,
    nullif(response_preview, '') AS response_preview,
    origin,
    transport,
    server AS server_name,
    method,
    request_id,
    CASE WHEN decision = 'block' OR status IN ('refused', 'denied') THEN 'denied' ELSE 'allowed' END AS decision,
    duration / 1000 AS duration_ms,
    nullif(error, '') AS error_message,
    process AS process_name,
    bytes_in AS bytes_sent,
    bytes_out AS bytes_received,
    decision AS policy_action,
    nullif(deciding_rule, '') AS policy_rule,
    nullif(policy_reason, '') AS policy_reason,
    nullif(trace_id, '') AS trace_id
FROM calls
WHERE method = 'tools/call';

DROP VIEW security_rule_events;
CREATE VIEW security_rule_events AS
SELECT
    d.seq AS id,
    d.at / 1000 AS timestamp_unix_ms,
    CASE typeof(d.call) WHEN 'blob' THEN lower(substr(hex(d.call), 1, 8) || '-' || substr(hex(d.call), 9, 4) || '-' || substr(hex(d.call), 13, 4) || '-' || substr(hex(d.call), 17, 4) || '-' || substr(hex(d.call), 21)) ELSE d.call END AS event_id,
    d.stage AS event_type,
    d.rule AS rule_id,
    d.action AS rule_action,
    d.effective AS effective_decision,
    d.detection AS detection_level,
    d.detail AS event_json,
    nullif(lower(hex(i.trace)), '') AS trace_id
FROM decisions d
LEFT JOIN intents i ON i.id = d.call;

DROP VIEW net_events;
CREATE VIEW net_events AS
SELECT
    h.seq AS id,
    CASE typeof(h.call) WHEN 'blob' THEN lower(substr(hex(h.call), 1, 8) || '-' || substr(hex(h.call), 9, 4) || '-' || substr(hex(h.call), 13, 4) || '-' || substr(hex(h.call), 17, 4) || '-' || substr(hex(h.call), 21)) ELSE coalesce(h.call, '') END AS event_id,
    strftime('%Y-%m-%dT%H:%M:%S', h.at / 1000000, 'unixepoch') || printf('.%06dZ', h.at % 1000000) AS timestamp,
    h.host AS domain,
    h.ip,
    h.port,
    h.decision,
    h.server AS process_name,
    h.method,
    h.path,
    h.status AS status_code,
    h.bytes_out AS bytes_sent,
    h.bytes_in AS bytes_received,
    nullif(lower(hex(i.trace)), '') AS trace_id
FROM http_requests h
LEFT JOIN intents i ON i.id = h.call;
