/**
 * @module The tools of the MCP server: each is a read of the HTTP interface. Their schemas come from the ledger's own description of it (OpenAPI), so that a
 * tool takes and gives what its route does.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'

/** How a ledger is read: over its HTTP interface, under the caller's token. Both throw an error with a message for people. */
export interface LedgerReads {
  json(path: string): Promise<JsonObject>
  text(path: string): Promise<string>
}

export interface ReadTool {
  /** As `tools/list` says it. */
  readonly definition: JsonObject
  /** Throws `TypeError` for arguments that name no request. */
  read(args: JsonObject, ledger: LedgerReads): Promise<JsonObject>
}

interface Named {
  readonly name: string
  readonly title: string
  readonly path: string
  readonly about: string
}

const ONE_ROUTE: readonly Named[] = [
  {
    name: 'find_runs',
    title: 'Find runs',
    path: '/v1/runs',
    about: 'Runs, newest first, by status, name, tag, agent, text or time; those in doubt, overdue, waiting or stuck.',
  },
  {
    name: 'run_report',
    title: 'One run',
    path: '/v1/runs/{run}',
    about: 'One run: status, agents, budget, open calls, what it waits for, suspects, and its place in the log.',
  },
  {
    name: 'open_calls',
    title: 'Calls without an outcome',
    path: '/v1/calls',
    about: 'Tool calls in doubt, or whose lease is over, over all runs.',
  },
  {
    name: 'pending_approvals',
    title: 'Approvals that wait',
    path: '/v1/approvals',
    about: 'Calls that wait for somebody to approve them, with their arguments.',
  },
  {
    name: 'budget_left',
    title: 'Budget of a run',
    path: '/v1/runs/{run}/budget',
    about: 'What a run spent, what it reserved, and its limits.',
  },
]
const AUDIT = '/v1/audit/'
/** Parameters for workers and past requests, of no use to a reader. */
const LEFT_OUT: ReadonlySet<string> = new Set(['due', 'names', 'versions', 'perTenant'])
const TEXT: JsonObject = { type: 'string' }
const ANNOTATIONS: JsonObject = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

/** The tools by name. `api`: the OpenAPI description of the ledger that is read. */
export function readTools(api: JsonObject): ReadonlyMap<string, ReadTool> {
  const tools = [...ONE_ROUTE.map((named) => routeTool(api, named)), auditTool(api), proofTool(api)]
  return new Map(tools.map((tool) => [String(tool.definition.name), tool]))
}

function routeTool(api: JsonObject, { path, about, ...names }: Named): ReadTool {
  const parameters = parametersOf(api, path)
  return {
    definition: {
      ...names,
      description: about,
      inputSchema: inputOf(parameters),
      outputSchema: outputOf(api, path),
      annotations: ANNOTATIONS,
    },
    read: (args, ledger) => ledger.json(pathWith(path, parameters, args)),
  }
}

/** All queries of auditors in one tool; each takes the filters that it has. */
function auditTool(api: JsonObject): ReadTool {
  const paths = isJsonObject(api.paths) ? api.paths : {}
  const queries = Object.keys(paths).filter((path) => path.startsWith(AUDIT) && !path.includes('{'))
  const names = queries.map((path) => path.slice(AUDIT.length))
  const all = new Map(queries.flatMap((path) => parametersOf(api, path).map((each) => [each.name, each] as const)))
  const about = queries.map((path) => `${path.slice(AUDIT.length)}: ${operationOf(api, path).summary}`)
  const query: Parameter = { name: 'query', in: 'query', isNeeded: true, schema: { type: 'string', enum: names } }
  return {
    definition: {
      name: 'audit_query',
      title: 'Ask the record',
      description: `One of the auditors' queries over the whole tenant. ${about.join('; ')}.`,
      inputSchema: inputOf([query, ...[...all.values()].map((each) => ({ ...each, isNeeded: false }))]),
      outputSchema: {
        type: 'object',
        properties: { query: TEXT, items: { type: 'array', items: { type: 'object' } } },
        required: ['query', 'items'],
      },
      annotations: ANNOTATIONS,
    },
    read: async ({ query: asked, ...args }, ledger) => {
      if (typeof asked !== 'string' || !names.includes(asked))
        throw new TypeError(`query is one of ${names.join(', ')}`)
      const path = `${AUDIT}${asked}`
      return ledger.json(pathWith(path, parametersOf(api, path), args))
    },
  }
}

/** One sealed event, with the file that proves it offline against the last checkpoint. */
function proofTool(api: JsonObject): ReadTool {
  const path = `${AUDIT}events/{event}`
  const parameters = parametersOf(api, path)
  return {
    definition: {
      name: 'event_with_proof',
      title: 'One event and its proof',
      description:
        'One event as it was sealed, and its proof against the last signed checkpoint (C2SP tlog-proof), which is checked offline. An event behind the last checkpoint has no proof yet.',
      inputSchema: inputOf(parameters),
      outputSchema: {
        type: 'object',
        properties: { event: { type: 'object' }, proof: TEXT, noProof: TEXT },
        required: ['event'],
      },
      annotations: ANNOTATIONS,
    },
    read: async (args, ledger) => {
      const event = await ledger.json(pathWith(path, parameters, args))
      const file = pathWith('/v1/log/events/{event}/proof.tlog-proof', parameters, args)
      // The event is an answer by itself: of one that no checkpoint covers yet, there is no proof.
      const proof = await ledger.text(file).then(
        (text) => ({ proof: text }),
        (error: Error) => ({ noProof: error.message }),
      )
      return { event, ...proof }
    },
  }
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly isNeeded: boolean
  readonly schema: JsonObject
}

function operationOf(api: JsonObject, path: string): JsonObject {
  const route = isJsonObject(api.paths) ? api.paths[path] : undefined
  const operation = isJsonObject(route) ? route.get : undefined
  if (!isJsonObject(operation)) throw new Error(`the ledger has no ${path}: it is of another version than this program`)
  return operation
}

function parametersOf(api: JsonObject, path: string): readonly Parameter[] {
  const { parameters = [] } = operationOf(api, path)
  return (parameters as readonly JsonObject[]).flatMap(({ name, in: place, required, schema, description }) => {
    if (typeof name !== 'string' || LEFT_OUT.has(name) || (place !== 'query' && place !== 'path')) return []
    const about = typeof description === 'string' ? { description } : {}
    const own = isJsonObject(schema) ? schema : TEXT
    return [{ name, in: place, isNeeded: required === true, schema: { ...own, ...about } }]
  })
}

function inputOf(parameters: readonly Parameter[]): JsonObject {
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    required: parameters.filter(({ isNeeded }) => isNeeded).map(({ name }) => name),
    additionalProperties: false,
  }
}

function pathWith(path: string, parameters: readonly Parameter[], args: JsonObject): string {
  const stranger = Object.keys(args).find((name) => !parameters.some((each) => each.name === name))
  if (stranger !== undefined)
    throw new TypeError(`there is no ${stranger} here; there are ${parameters.map(({ name }) => name).join(', ')}`)
  const query = new URLSearchParams()
  let filled = path
  for (const { name, in: place, isNeeded } of parameters) {
    const value = args[name]
    if (value === undefined && !isNeeded) continue
    if (!['string', 'number', 'boolean'].includes(typeof value)) throw new TypeError(`${name} is a text or a number`)
    const text = String(value)
    if (place === 'query') query.set(name, text)
    // A URL drops such a segment and would name something else.
    else if (['', '.', '..'].includes(text)) throw new TypeError(`${name} names nothing`)
    else filled = filled.replace(`{${name}}`, encodeURIComponent(text))
  }
  const search = query.toString()
  return search === '' ? filled : `${filled}?${search}`
}

const COMPONENT = '#/components/schemas/'

/** The schema of the answer with all that it refers to, as one schema. */
function outputOf(api: JsonObject, path: string): JsonObject {
  const { responses } = operationOf(api, path)
  const ok = isJsonObject(responses) && isJsonObject(responses['200']) ? responses['200'].content : undefined
  const json = isJsonObject(ok) && isJsonObject(ok['application/json']) ? ok['application/json'].schema : undefined
  const components = isJsonObject(api.components) && isJsonObject(api.components.schemas) ? api.components.schemas : {}
  const $defs: Record<string, Json> = {}
  const own = (schema: Json): Json => {
    if (Array.isArray(schema)) return schema.map(own)
    if (!isJsonObject(schema)) return schema
    const name = typeof schema.$ref === 'string' ? schema.$ref.slice(COMPONENT.length) : undefined
    if (name !== undefined && !Object.hasOwn($defs, name)) {
      $defs[name] = {}
      $defs[name] = own(components[name] ?? {})
    }
    const members = Object.entries(schema).map(([key, member]) => [key, own(member)])
    return { ...Object.fromEntries(members), ...(name !== undefined && { $ref: `#/$defs/${name}` }) }
  }
  const schema = own(isJsonObject(json) ? json : {})
  return { type: 'object', ...(schema as JsonObject), ...(Object.keys($defs).length > 0 && { $defs }) }
}
