/** @module The ledger of a data folder behind a socket in this process, with a token of its own: for commands with `--url`. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { applicationOver } from '../../src/cli/api.ts'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { listening } from './listening.ts'
import { ALL_SCOPES } from './test-edge.ts'

export interface ServedLedger extends AsyncDisposable {
  readonly opened: OpenLedger
  readonly url: string
  /** What a command needs to ask it. */
  readonly there: readonly string[]
}

export async function servedLedger(data: string, tenant: string): Promise<ServedLedger> {
  const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
  const opened = await openLedger(settings, silentLog)
  const held = { ledger: opened.ledger, keys: opened.keys.current() }
  const { fetch, token } = await applicationOver(held, tenant, { scopes: ALL_SCOPES })
  const socket = await socketOver(fetch)
  const close = async (): Promise<void> => {
    await socket[Symbol.asyncDispose]()
    await opened[Symbol.asyncDispose]()
  }
  return { opened, url: socket.url, there: ['--url', socket.url, '--token', token], [Symbol.asyncDispose]: close }
}

type Answers = (url: string, init: RequestInit) => Response | Promise<Response>

/** A server at a free port of this machine that answers as `fetch` does. */
export async function socketOver(fetch: Answers): Promise<AsyncDisposable & { readonly url: string }> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)])
    const { method = 'GET' } = request
    const body = method === 'GET' ? null : await buffer(request)
    const answered = await fetch(`http://localhost${request.url}`, { method, headers, body: body as BodyInit | null })
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    for await (const chunk of answered.body ?? []) response.write(chunk)
    response.end()
  }
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  const url = `http://127.0.0.1:${await listening(server)}`
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url, [Symbol.asyncDispose]: close }
}
