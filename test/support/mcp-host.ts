/** @module A host of MCP over HTTP without an SDK: the file that names its one server, and a single call through the proxy. */
import { writeFileSync } from 'node:fs'
import type { JsonObject } from '../../schemas/json.ts'
import type { ServerProcess } from './server-process.ts'
import type { TempFolder } from './temp-folder.ts'

const VERSION = 'io.modelcontextprotocol/protocolVersion'

/** Flags for a ledger whose proxy is in front of the server at this URL, named `peer`. */
export function fileFor(folder: TempFolder, url: string, effects: unknown): readonly string[] {
  writeFileSync(folder.file('mcp.json'), JSON.stringify({ servers: { peer: { url, effects } } }))
  return ['--mcp', folder.file('mcp.json')]
}

interface Asking {
  readonly signal?: AbortSignal
  /** The host's own identity of the call. */
  readonly key?: string
}

/** Calls a tool of `peer` in run `host`, by revision 2026-07-28. */
export function asked(
  ledger: ServerProcess,
  token: string,
  params: JsonObject,
  { signal, key }: Asking = {},
): Promise<Response> {
  const meta = { [VERSION]: '2026-07-28', ...(key !== undefined && { 'dev.countersign/call-key': key }) }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: meta } }
  return fetch(`${ledger.url}/mcp/peer`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      ...{ 'content-type': 'application/json', 'x-countersign-run': 'host' },
      ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': String(params.name) },
    },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
}
