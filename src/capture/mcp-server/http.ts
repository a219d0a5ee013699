/** @module The MCP server at `/mcp`: one request, one answer, no sessions; every read passes through the application under the caller's token. */
import { isJsonObject, type JsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { requestIdOf, revisionOf } from '../http/revision.ts'
import { INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR } from '../json-rpc.ts'
import { answerMcp, failed, toolsOnce } from './mcp-server.ts'
import type { LedgerReads } from './tools.ts'

interface McpReadAsked {
  readonly method: string
  readonly headers: Headers
  readonly body: string
  /** Calls this application; `init` has no credentials yet. */
  readonly ledger: (path: string, init: RequestInit) => Promise<Response>
}

const JSON_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' }

/** `origins`: those of pages that may ask. */
export function mcpReads(version: string, origins: readonly string[]): (asked: McpReadAsked) => Promise<Response> {
  const tools = toolsOnce()
  return async ({ method, headers, body, ledger }) => {
    const origin = headers.get('origin')
    // A page of another site could reach this server through a browser (DNS rebinding).
    if (origin !== null && !origins.includes(origin))
      return answer(403, failed(null, INVALID_REQUEST, 'pages of this origin may not ask here: see --cors'))
    if (method !== 'POST') return answer(405, failed(null, INVALID_REQUEST, 'this takes POST'), { allow: 'POST' })
    const message = parseJsonOrUndefined(body)
    if (!isJsonObject(message)) return answer(400, failed(null, PARSE_ERROR, 'the body is no JSON object'))
    const revision = revisionOf(headers, message)
    if (!revision.ok) return answer(400, failed(requestIdOf(message), revision.code, revision.message, revision.data))
    const found = await answerMcp(message, { ledger: readsOver(ledger, headers), tools, version })
    if (found === undefined) return new Response(null, { status: 202 })
    const isUnknown = isJsonObject(found.error) && found.error.code === METHOD_NOT_FOUND
    return answer(isUnknown && revision.isStateless ? 404 : 200, found)
  }
}

function answer(status: number, message: JsonObject, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(message), { status, headers: { ...JSON_HEADERS, ...headers } })
}

function readsOver(ledger: McpReadAsked['ledger'], asked: Headers): LedgerReads {
  const kept = ['authorization', 'traceparent', 'tracestate']
  const headers = Object.fromEntries(
    kept.flatMap((name) => (asked.get(name) === null ? [] : [[name, String(asked.get(name))]])),
  )
  const ask = async (path: string): Promise<Response> => {
    const response = await ledger(path, { headers })
    if (response.ok) return response
    const problem = parseJsonOrUndefined(await response.text())
    const { code = response.status, detail = response.statusText } = isJsonObject(problem) ? problem : {}
    throw new Error(`${code}: ${detail}`)
  }
  return {
    json: async (path) => (await (await ask(path)).json()) as JsonObject,
    text: async (path) => (await ask(path)).text(),
  }
}
