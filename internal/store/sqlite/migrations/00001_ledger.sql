-- The first schema of the ledger. Package documentation (doc.go) says why it is
-- as it is; in short:
--
-- * Every record is one row that is never changed. seq numbers all records of all
--   tables in the order in which they were committed, without gaps: 1, 2, 3. Link n of
--   the chain covers the records first … first+records-1, so the place of a record in
--   its link is seq-first, and no index is needed for either.
-- * Identifiers: a UUID in canonical lower-case text is a blob of 16 bytes, anything
--   else is that text. Times are microseconds since 1970, NULL: none. In optional
--   columns NULL stands for the empty text, the zero digest, no trace.
-- * What repeats from call to call (who, what, why) is kept once, in callers, targets
--   and verdicts, and rows name it by number. No number is given twice, also when what
--   had it was pruned: segments and their maker remember them.
-- * segments are derived from the rows; they stand in for indexes that every commit
--   would have to pay for.

-- +goose Up
PRAGMA user_version = 1; -- for who looks at the file without us

CREATE TABLE chain (
    seq     INTEGER PRIMARY KEY, -- of the link
    at      INTEGER NOT NULL,
    first   INTEGER NOT NULL,    -- seq of its first record
    records INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    hash    BLOB    NOT NULL
) STRICT;

CREATE TABLE callers (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    session        ANY     NOT NULL, -- '': none
    principal      TEXT    NOT NULL,
    entrance       TEXT    NOT NULL,
    process        TEXT    NOT NULL,
    client         TEXT    NOT NULL,
    client_version TEXT    NOT NULL,
    route          TEXT    NOT NULL,
    era            TEXT    NOT NULL,
    last           INTEGER NOT NULL, -- see bodies
    UNIQUE (session, principal, entrance, process, client, client_version, route, era)
) STRICT;

CREATE TABLE targets (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    server    TEXT    NOT NULL,
    method    TEXT    NOT NULL,
    tool      TEXT    NOT NULL,
    full_name TEXT    NOT NULL,
    origin    TEXT    NOT NULL,
    transport TEXT    NOT NULL,
    risk      INTEGER NOT NULL,
    last      INTEGER NOT NULL, -- see bodies
    UNIQUE (server, method, tool, full_name, origin, transport, risk)
) STRICT;

CREATE TABLE verdicts (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    action INTEGER NOT NULL, -- 0 allow, 1 ask, 2 block
    rule   TEXT    NOT NULL,
    layer  TEXT    NOT NULL,
    reason TEXT    NOT NULL,
    last   INTEGER NOT NULL, -- see bodies
    UNIQUE (rule, action, layer, reason)
) STRICT;

CREATE TABLE intents (
    seq      INTEGER PRIMARY KEY,
    id       ANY     NOT NULL,
    at       INTEGER,
    caller   INTEGER NOT NULL,
    target   INTEGER NOT NULL,
    verdict  INTEGER NOT NULL,
    bytes_in INTEGER NOT NULL,
    parent   ANY,
    trace    BLOB,
    span     BLOB,
    request  TEXT, -- the caller's JSON-RPC id
    body     BLOB, -- digest
    preview  TEXT
) STRICT;
CREATE UNIQUE INDEX intents_id ON intents (id);

CREATE TABLE outcomes (
    seq        INTEGER PRIMARY KEY,
    call       INTEGER NOT NULL, -- seq of the intent
    at         INTEGER,
    dispatched INTEGER,
    duration   INTEGER NOT NULL, -- microseconds
    status     TEXT    NOT NULL,
    attempts   INTEGER NOT NULL,
    bytes_out  INTEGER NOT NULL,
    error      TEXT,
    body       BLOB,
    preview    TEXT
) STRICT;
CREATE UNIQUE INDEX outcomes_call ON outcomes (call);

-- The ids of intents that were pruned while their outcomes were not: what an
-- outcome's digest covers.
CREATE TABLE pruned_calls (
    seq INTEGER PRIMARY KEY, -- of the intent
    id  ANY NOT NULL
) STRICT;
CREATE UNIQUE INDEX pruned_calls_id ON pruned_calls (id);

-- A segment covers consecutive rows of one table. It says for each value that is looked
-- for in which of them it occurs, and what statistics need of each. What comes after
-- the last segment is looked through row by row. See read_index.go for the keys.
CREATE TABLE segments (
    key  INTEGER PRIMARY KEY,
    data BLOB NOT NULL
) STRICT;

-- How far, in seq of records, work that follows the writing has come.
CREATE TABLE marks (
    name TEXT    PRIMARY KEY,
    seq  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE bodies (
    id        INTEGER PRIMARY KEY,
    digest    BLOB    NOT NULL UNIQUE,
    encoding  TEXT    NOT NULL,
    original  INTEGER NOT NULL,
    stored    INTEGER NOT NULL,
    truncated INTEGER NOT NULL,
    last      INTEGER NOT NULL -- seq of a record, no earlier than the last that names it, of those up to marks.used
) STRICT;

CREATE TABLE body_data (
    id   INTEGER PRIMARY KEY, -- of bodies
    data BLOB NOT NULL
) STRICT;

CREATE TABLE session_starts (
    seq            INTEGER PRIMARY KEY,
    id             ANY  NOT NULL,
    at             INTEGER,
    principal      TEXT NOT NULL,
    entrance       TEXT NOT NULL,
    process        TEXT NOT NULL,
    client         TEXT NOT NULL,
    client_version TEXT NOT NULL,
    route          TEXT NOT NULL,
    era            TEXT NOT NULL,
    sandbox        TEXT NOT NULL,
    policy         TEXT NOT NULL
) STRICT;
CREATE INDEX session_starts_id ON session_starts (id);
CREATE INDEX session_starts_sandbox ON session_starts (sandbox) WHERE sandbox <> '';

CREATE TABLE session_ends (
    seq    INTEGER PRIMARY KEY,
    id     ANY  NOT NULL,
    at     INTEGER,
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX session_ends_id ON session_ends (id);

CREATE TABLE decisions (
    seq       INTEGER PRIMARY KEY,
    call      ANY  NOT NULL,
    at        INTEGER,
    stage     TEXT NOT NULL,
    layer     TEXT NOT NULL,
    rule      TEXT NOT NULL,
    action    TEXT NOT NULL,
    effective TEXT NOT NULL,
    detection TEXT NOT NULL,
    detail    TEXT NOT NULL
) STRICT;
CREATE INDEX decisions_call ON decisions (call);

CREATE TABLE approvals (
    seq    INTEGER PRIMARY KEY,
    id     TEXT NOT NULL,
    call   ANY  NOT NULL,
    at     INTEGER,
    status TEXT NOT NULL,
    by     TEXT NOT NULL,
    reason TEXT NOT NULL,
    scope  TEXT NOT NULL
) STRICT;
CREATE INDEX approvals_call ON approvals (call);
CREATE INDEX approvals_id ON approvals (id);

CREATE TABLE http_requests (
    seq       INTEGER PRIMARY KEY,
    call      ANY, -- NULL: for no call
    at        INTEGER,
    server    TEXT    NOT NULL,
    method    TEXT    NOT NULL,
    host      TEXT    NOT NULL,
    ip        TEXT    NOT NULL,
    port      INTEGER NOT NULL,
    path      TEXT    NOT NULL,
    status    INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    decision  TEXT    NOT NULL
) STRICT;
CREATE INDEX http_requests_call ON http_requests (call) WHERE call IS NOT NULL;

CREATE TABLE events (
    seq     INTEGER PRIMARY KEY,
    at      INTEGER,
    layer   TEXT NOT NULL,
    sandbox TEXT NOT NULL,
    session ANY, -- NULL: none
    trace   BLOB,
    what    TEXT NOT NULL,
    detail  TEXT NOT NULL
) STRICT;

CREATE TABLE changes (
    seq      INTEGER PRIMARY KEY,
    at       INTEGER,
    who      TEXT NOT NULL,
    what     TEXT NOT NULL,
    target   TEXT NOT NULL,
    old_hash TEXT NOT NULL,
    new_hash TEXT NOT NULL,
    detail   TEXT NOT NULL
) STRICT;

CREATE TABLE notes (
    seq    INTEGER PRIMARY KEY,
    at     INTEGER,
    what   TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

-- Views for people who look at the file themselves. Nothing in the program reads them,
-- except calls, which is what lists of calls look like.

CREATE VIEW calls AS
SELECT
    i.seq,
    CASE typeof(i.id) WHEN 'blob' THEN lower(substr(hex(i.id), 1, 8) || '-' || substr(hex(i.id), 9, 4) || '-' || substr(hex(i.id), 13, 4) || '-' || substr(hex(i.id), 17, 4) || '-' || substr(hex(i.id), 21)) ELSE i.id END AS id,
    CASE typeof(c.session) WHEN 'blob' THEN lower(substr(hex(c.session), 1, 8) || '-' || substr(hex(c.session), 9, 4) || '-' || substr(hex(c.session), 13, 4) || '-' || substr(hex(c.session), 17, 4) || '-' || substr(hex(c.session), 21)) ELSE c.session END AS session,
    CASE typeof(i.parent) WHEN 'blob' THEN lower(substr(hex(i.parent), 1, 8) || '-' || substr(hex(i.parent), 9, 4) || '-' || substr(hex(i.parent), 13, 4) || '-' || substr(hex(i.parent), 17, 4) || '-' || substr(hex(i.parent), 21)) ELSE coalesce(i.parent, '') END AS parent,
    lower(hex(i.trace)) AS trace_id,
    lower(hex(i.span)) AS span_id,
    c.principal, c.entrance, c.process, c.client, c.client_version, c.route, c.era,
    t.origin, t.transport, t.server, t.method, t.tool, t.full_name,
    CASE t.risk WHEN 0 THEN '' WHEN 1 THEN 'low' WHEN 2 THEN 'medium' WHEN 3 THEN 'high' ELSE 'critical' END AS risk,
    coalesce(i.request, '') AS request_id,
    CASE v.action WHEN 0 THEN 'allow' WHEN 1 THEN 'ask' ELSE 'block' END AS decision,
    v.rule AS deciding_rule, v.layer AS deciding_layer, v.reason AS policy_reason,
    i.at AS intent_at, o.dispatched AS dispatched_at, o.at AS outcome_at,
    coalesce(o.status, 'dispatched') AS status,
    coalesce(o.attempts, 0) AS attempts,
    i.bytes_in, coalesce(o.bytes_out, 0) AS bytes_out,
    o.duration,
    coalesce(o.error, '') AS error,
    coalesce(i.preview, '') AS request_preview, coalesce(o.preview, '') AS response_preview,
    i.body AS request_body, o.body AS response_body
FROM intents i
JOIN callers c ON c.id = i.caller
JOIN targets t ON t.id = i.target
JOIN verdicts v ON v.id = i.verdict
LEFT JOIN outcomes o ON o.call = i.seq;

CREATE VIEW sessions AS
SELECT
    CASE typeof(s.id) WHEN 'blob' THEN lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-' || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) ELSE s.id END AS id,
    s.principal, s.entrance, s.process, s.client, s.client_version, s.route, s.era, s.sandbox, s.policy,
    s.at AS started,
    (SELECT e.at FROM session_ends e WHERE e.id = s.id AND e.seq > s.seq ORDER BY e.seq LIMIT 1) AS ended,
    (SELECT e.reason FROM session_ends e WHERE e.id = s.id AND e.seq > s.seq ORDER BY e.seq LIMIT 1) AS reason
FROM session_starts s;

CREATE VIEW sandbox_events AS SELECT * FROM events WHERE layer = 'sandbox';
CREATE VIEW exec_events AS SELECT * FROM events WHERE layer = 'exec';
CREATE VIEW file_events AS SELECT * FROM events WHERE layer = 'file';
CREATE VIEW network_events AS SELECT * FROM events WHERE layer = 'network';

-- The names of the described system.

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
    CASE decision WHEN 'block' THEN 'denied' ELSE 'allowed' END AS decision,
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

CREATE VIEW security_rule_events AS
SELECT
    seq AS id,
    at / 1000 AS timestamp_unix_ms,
    CASE typeof(call) WHEN 'blob' THEN lower(substr(hex(call), 1, 8) || '-' || substr(hex(call), 9, 4) || '-' || substr(hex(call), 13, 4) || '-' || substr(hex(call), 17, 4) || '-' || substr(hex(call), 21)) ELSE call END AS event_id,
    stage AS event_type,
    rule AS rule_id,
    action AS rule_action,
    effective AS effective_decision,
    detection AS detection_level,
    detail AS event_json
FROM decisions;

CREATE VIEW security_ask_events AS
SELECT
    a.seq AS id,
    a.at / 1000 AS timestamp_unix_ms,
    a.id AS ask_id,
    CASE typeof(a.call) WHEN 'blob' THEN lower(substr(hex(a.call), 1, 8) || '-' || substr(hex(a.call), 9, 4) || '-' || substr(hex(a.call), 13, 4) || '-' || substr(hex(a.call), 17, 4) || '-' || substr(hex(a.call), 21)) ELSE a.call END AS event_id,
    a.status,
    a.by AS resolver,
    a.reason,
    a.scope
FROM approvals a;

CREATE VIEW net_events AS
SELECT
    seq AS id,
    CASE typeof(call) WHEN 'blob' THEN lower(substr(hex(call), 1, 8) || '-' || substr(hex(call), 9, 4) || '-' || substr(hex(call), 13, 4) || '-' || substr(hex(call), 17, 4) || '-' || substr(hex(call), 21)) ELSE coalesce(call, '') END AS event_id,
    strftime('%Y-%m-%dT%H:%M:%S', at / 1000000, 'unixepoch') || printf('.%06dZ', at % 1000000) AS timestamp,
    host AS domain,
    ip,
    port,
    decision,
    server AS process_name,
    method,
    path,
    status AS status_code,
    bytes_out AS bytes_sent,
    bytes_in AS bytes_received
FROM http_requests;

CREATE VIEW event_body_blobs AS
SELECT
    i.seq AS id,
    c.id AS event_id,
    'tool_calls' AS source_table,
    'request' AS direction,
    b.original AS original_bytes,
    b.stored AS stored_bytes,
    b.truncated,
    'sha256:' || lower(hex(b.digest)) AS body_hash,
    b.encoding,
    d.data AS body
FROM intents i JOIN calls c ON c.seq = i.seq JOIN bodies b ON b.digest = i.body JOIN body_data d ON d.id = b.id
UNION ALL
SELECT
    o.seq, c.id, 'tool_calls', 'response', b.original, b.stored, b.truncated, 'sha256:' || lower(hex(b.digest)), b.encoding, d.data
FROM outcomes o JOIN calls c ON c.seq = o.call JOIN bodies b ON b.digest = o.body JOIN body_data d ON d.id = b.id;
