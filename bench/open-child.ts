/** @module Child process: the whole server, except that it accepts any token as the bench's. Its advantage in speed is the cost of tokens. */

import { openLedger } from '../src/compose/compose.ts'
import { createApp } from '../src/http/app.ts'
import type { HttpLog } from '../src/http/app-deps.ts'
import { startServer } from '../src/http/server.ts'
import { silentLog } from '../src/ledger/effects.ts'
import { readSettings } from '../src/settings/config.ts'
import type { Principal } from '../src/signing/tokens.ts'

const DRAIN_MS = 3_000

const [, , data = '', rate = '1000000', burst = '10000000'] = process.argv
const log: HttpLog = { ...silentLog, debug: () => {} }
const anyone: Principal = {
  tenant: 'default',
  subject: 'bench',
  actor: 'bench',
  scopes: new Set(['runs:write', 'runs:read']),
  expiresAt: Number.MAX_SAFE_INTEGER,
}

const opened = await openLedger(readSettings({ data }, {}), log)
const app = createApp({
  ledger: opened.ledger,
  verifier: { verify: async () => ({ ok: true, claims: anyone }) },
  jwks: () => ({ keys: [] }),
  log,
  version: 'bench',
  settings: { ratePerSecond: Number(rate), rateBurst: Number(burst), openMetrics: true },
})
const server = await startServer({ app, host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)

process.once('SIGTERM', async () => {
  await server.close(DRAIN_MS)
  await opened[Symbol.asyncDispose]()
})
