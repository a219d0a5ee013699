/** @module What a model is told of a tool: name, description, and a JSON Schema of its arguments. */
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import type { StandardSchema } from '../calls/standard-schema.ts'
import type { ToolSpec } from '../calls/tool-spec.ts'
import { specOf } from '../calls/wrap-tool.ts'
import { AgentError } from '../errors.ts'
import type { ToolDescription } from './messages.ts'

/** A tool, or one with the JSON Schema of its arguments, where its own schema cannot tell. */
export type LoopTool = AnyTool | { readonly tool: AnyTool; readonly parameters: JsonObject }
type AnyTool = (...args: never[]) => unknown

export interface DescribedTool {
  readonly spec: ToolSpec
  readonly description: ToolDescription
}

/** By name. Throws `unknown-tool` and `tool-registered-twice`. */
export function describeTools(tools: readonly LoopTool[]): ReadonlyMap<string, DescribedTool> {
  const described = new Map<string, DescribedTool>()
  for (const loopTool of tools) {
    const { tool, parameters } = typeof loopTool === 'function' ? { tool: loopTool, parameters: undefined } : loopTool
    const spec = specOf(tool)
    if (spec === undefined) throw new AgentError('unknown-tool', 'agent({tools}) takes tools that cs.tool made')
    const { name, description } = spec
    if (described.has(name))
      throw new AgentError('tool-registered-twice', `two tools are named ${name}`, { tool: name })
    described.set(name, {
      spec,
      description: {
        name,
        ...(description !== undefined && { description }),
        parameters: parameters ?? schemaOf(spec),
      },
    })
  }
  return described
}

/** Standard JSON Schema (standardschema.dev), which zod and others bring along. */
interface WithJsonSchema {
  readonly jsonSchema?: { readonly input?: (options: { readonly target: string }) => unknown }
}

const TARGET = 'draft-2020-12'
const ANY_OBJECT: JsonObject = { type: 'object' }
/** A wrapped function takes a list, which the model writes as an object of one member. */
const ANY_LIST: JsonObject = {
  type: 'object',
  properties: { args: { type: 'array', description: 'the arguments, in order' } },
  required: ['args'],
}

function schemaOf({ input, takes }: ToolSpec): JsonObject {
  if (takes === 'list') return ANY_LIST
  const schema = input === undefined ? undefined : jsonSchemaOf(input)
  return schema ?? ANY_OBJECT
}

function jsonSchemaOf(schema: StandardSchema): JsonObject | undefined {
  const { jsonSchema } = schema['~standard'] as WithJsonSchema
  try {
    const found = jsonSchema?.input?.({ target: TARGET })
    return isJsonObject(found as never) ? (JSON.parse(JSON.stringify(found)) as JsonObject) : undefined
  } catch {
    // Some schemas have no JSON form: the arguments are parsed all the same when they come.
    return undefined
  }
}

/** Arguments as the tool takes them. */
export function argumentsFor({ takes }: ToolSpec, value: unknown): unknown {
  if (takes === 'value' || Array.isArray(value)) return value
  const listed = typeof value === 'object' && value !== null && 'args' in value ? value.args : value
  return Array.isArray(listed) ? listed : [listed]
}
