-- Times are microseconds since 1970.

-- +goose Up
PRAGMA user_version = 1; -- for who looks at the file without us

CREATE TABLE grants (
    id        TEXT    NOT NULL PRIMARY KEY, -- of the approval that made it
    principal TEXT    NOT NULL,
    rules     TEXT    NOT NULL, -- JSON array of texts, sorted
    method    TEXT    NOT NULL,
    server    TEXT    NOT NULL,
    tool      TEXT    NOT NULL, -- or prompt, or the URI of a resource
    pin       TEXT    NOT NULL, -- of the tool's definition
    arguments TEXT    NOT NULL, -- digest of their canonical form
    patterns  TEXT    NOT NULL, -- JSON array of [pointer, glob]
    created   INTEGER NOT NULL,
    expires   INTEGER NOT NULL,
    by        TEXT    NOT NULL,
    reason    TEXT    NOT NULL,
    preview   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pins (
    server  TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    hash    TEXT    NOT NULL,
    state   TEXT    NOT NULL,
    raw     BLOB,
    seen    INTEGER NOT NULL,
    decided INTEGER NOT NULL DEFAULT 0, -- 0: never
    by      TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (server, kind, name, hash)
) STRICT, WITHOUT ROWID;
