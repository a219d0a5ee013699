/** @module An MCP server over a ledger: read-only tools, under the token of the caller. Both revisions: with `initialize` (to 2025-11-25), and without. */
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import { requestIdOf, STATELESS, WITH_SESSIONS } from '../http/revision.ts'
import { errorOf, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, type RequestId } from '../json-rpc.ts'
import { type LedgerReads, type ReadTool, readTools } from './tools.ts'

const LATEST_WITH_SESSIONS = WITH_SESSIONS.at(-1) ?? STATELESS
const CAPABILITIES: JsonObject = { tools: {} }
const INSTRUCTIONS =
  'Reads a Countersign ledger: what AI agents did, as signed events. Nothing here writes. An answer speaks up to its asOf; losses in an answer name what is missing.'
/** What does not change while a server runs, and is the same for every caller of one token. */
const CACHED: JsonObject = { ttlMs: 0, cacheScope: 'private' }

type Tools = (ledger: LedgerReads) => Promise<ReadonlyMap<string, ReadTool>>

interface McpLedger {
  readonly ledger: LedgerReads
  /** As `toolsOnce` makes them, kept for the ledger. */
  readonly tools: Tools
  /** That of this program. */
  readonly version: string
}

/** The answer to a message; undefined if it asks for none. */
export async function answerMcp(
  message: JsonObject,
  { ledger, tools, version }: McpLedger,
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
      const listed = [...(await tools(ledger)).values()]
      return done(id, { tools: listed.map(({ definition }) => definition), ...CACHED })
    }
    case 'tools/call':
      return called(id, params, { ledger, tools: await tools(ledger) })
    default:
      return failed(id, METHOD_NOT_FOUND, `there is no method ${message.method.slice(0, 64)} here`)
  }
}

const about = (version: string): JsonObject => ({
  capabilities: CAPABILITIES,
  serverInfo: { name: 'countersign', title: 'Countersign', version },
  instructions: INSTRUCTIONS,
})

/** The tools of one ledger, made of its description when they are first asked for: it is large, and stays while the server runs. */
export function toolsOnce(): Tools {
  let made: Promise<ReadonlyMap<string, ReadTool>> | undefined
  return (ledger) => {
    made ??= ledger
      .json('/openapi.json')
      .then(readTools)
      .catch((error: unknown) => {
        made = undefined
        throw error
      })
    return made
  }
}

/** A refusal of the ledger is a result that the model reads. */
async function called(
  id: string | number,
  { name, arguments: args }: JsonObject,
  { ledger, tools }: { readonly ledger: LedgerReads; readonly tools: ReadonlyMap<string, ReadTool> },
): Promise<JsonObject> {
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

export const failed = (id: RequestId | null, code: number, message: string, data?: JsonObject): JsonObject => ({
  jsonrpc: '2.0',
  ...errorOf(id, code, message, data),
})
