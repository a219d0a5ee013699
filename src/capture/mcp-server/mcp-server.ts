/** @module An MCP server over a ledger: read-only tools, under the token of whoever asks. Both revisions: with `initialize` (to 2025-11-25), and without. */
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import { requestIdOf, STATELESS, WITH_SESSIONS } from '../http/revision.ts'
import { INVALID_PARAMS, INVALID_REQUEST } from '../json-rpc.ts'
import { type LedgerReads, type ReadTool, readTools } from './tools.ts'

const METHOD_NOT_FOUND = -32_601
const LATEST_WITH_SESSIONS = WITH_SESSIONS.at(-1) ?? STATELESS
const CAPABILITIES: JsonObject = { tools: {} }
const INSTRUCTIONS =
  'Reads a Countersign ledger: what AI agents did, as signed events. Nothing here writes. An answer speaks up to its asOf; losses in an answer name what is missing.'
/** What does not change while a server runs, and is the same for every caller of one token. */
const CACHED: JsonObject = { ttlMs: 0, cacheScope: 'private' }

/** The answer to a message; undefined if it asks for none. `version`: that of this program. */
export async function answerMcp(
  message: JsonObject,
  ledger: LedgerReads,
  version: string,
): Promise<JsonObject | undefined> {
  const id = requestIdOf(message)
  if (typeof message.method !== 'string')
    return id === null ? failed(null, INVALID_REQUEST, 'a request names its method') : undefined
  if (id === null) return undefined
  const params = isJsonObject(message.params) ? message.params : {}
  switch (message.method) {
    case 'initialize': {
      const { protocolVersion: asked } = params
      const protocolVersion = WITH_SESSIONS.find((each) => each === asked) ?? LATEST_WITH_SESSIONS
      return done(id, { protocolVersion, ...about(version) })
    }
    case 'server/discover':
      return done(id, { supportedVersions: [...WITH_SESSIONS, STATELESS], ...about(version), ...CACHED })
    case 'ping':
      return done(id, {})
    case 'tools/list': {
      const tools = [...(await toolsOf(ledger)).values()]
      return done(id, { tools: tools.map(({ definition }) => definition), ...CACHED })
    }
    case 'tools/call':
      return called(id, params, ledger)
    default:
      return failed(id, METHOD_NOT_FOUND, `there is no method ${message.method.slice(0, 64)} here`)
  }
}

const about = (version: string): JsonObject => ({
  capabilities: CAPABILITIES,
  serverInfo: { name: 'countersign', title: 'Countersign', version },
  instructions: INSTRUCTIONS,
})

async function toolsOf(ledger: LedgerReads): Promise<ReadonlyMap<string, ReadTool>> {
  return readTools(await ledger.json('/openapi.json'))
}

/** A refusal of the ledger is a result that the model reads. */
async function called(
  id: string | number,
  { name, arguments: args }: JsonObject,
  ledger: LedgerReads,
): Promise<JsonObject> {
  const tools = await toolsOf(ledger)
  const tool = tools.get(String(name))
  if (tool === undefined)
    return failed(
      id,
      INVALID_PARAMS,
      `there is no tool ${String(name).slice(0, 64)}; there are ${[...tools.keys()].join(', ')}`,
    )
  try {
    const structuredContent = await tool.read(isJsonObject(args) ? args : {}, ledger)
    return done(id, { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent })
  } catch (error) {
    return done(id, { content: [{ type: 'text', text: (error as Error).message }], isError: true })
  }
}

const done = (id: string | number, result: JsonObject): JsonObject => ({
  jsonrpc: '2.0',
  id,
  result: { resultType: 'complete', ...result },
})

export const failed = (id: string | number | null, code: number, message: string): JsonObject => ({
  jsonrpc: '2.0',
  id,
  error: { code, message: `countersign: ${message}` },
})
