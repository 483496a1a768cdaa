// Imported in front of a server of others: its connections are kept, for the reason in
// everything.mjs.

import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';

const { createServer } = http;
http.createServer = (...args) => Object.assign(createServer(...args), { keepAliveTimeout: 0 });
syncBuiltinESMExports();
