/** @module The description of a tool for a model: name, description, and a JSON Schema of its arguments. */

import { isJsonObject, type JsonObject, parseJson } from '../../../schemas/json.ts'
import type { StandardSchema } from '../calls/standard-schema.ts'
import type { AnyTool, ToolSpec } from '../calls/tool-spec.ts'
import { specOf } from '../calls/wrap-tool.ts'
import { AgentError } from '../errors.ts'
import type { ToolDescription } from './messages.ts'

/** A tool, optionally with the JSON Schema of its arguments, for tools whose own schema cannot be converted. */
export type LoopTool = AnyTool | { readonly tool: AnyTool; readonly parameters: JsonObject }

export interface DescribedTool {
  readonly spec: ToolSpec
  readonly description: ToolDescription
}

/** Describes tools, by name. Throws `unknown-tool`, `tool-registered-twice` and `tool-without-schema`. */
export function describeTools(tools: Iterable<LoopTool>): ReadonlyMap<string, DescribedTool> {
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
        parameters: schemaOf(spec, parameters ?? spec.parameters),
      },
    })
  }
  return described
}

/** Interface of Standard JSON Schema (standardschema.dev), which zod and others implement. */
interface WithJsonSchema {
  readonly jsonSchema?: { readonly input?: (options: { readonly target: string }) => unknown }
}

const TARGET = 'draft-2020-12'
/** Schemas of tools without an input schema: one value may be any object; a list of arguments cannot be described. */
const ANY_VALUE: Readonly<Record<ToolSpec['takes'], JsonObject | undefined>> = {
  value: { type: 'object' },
  list: undefined,
}

/** The JSON Schema of a tool's arguments. Throws `tool-without-schema` if there is none, because a model could not call the tool correctly. */
function schemaOf({ name, input, takes, arity }: ToolSpec, written: JsonObject | undefined): JsonObject {
  const schema = written ?? (input === undefined ? ANY_VALUE[takes] : jsonSchemaOf(input))
  if (schema === undefined) {
    const message = `no model can tell the arguments of ${name}: give it {parameters}, a JSON Schema of an object, or define it with an input whose library makes one`
    throw new AgentError('tool-without-schema', message, { tool: name })
  }
  if (takes === 'value' || arity < 2 || isListOf(schema)) return schema
  const message = `${name} takes ${arity} arguments, and a model gives one object: describe them as {args: a list}, or make it a tool of one argument`
  throw new AgentError('tool-without-schema', message, { tool: name })
}

/** Whether the schema describes a function's ordered arguments as an object with the single list member `args`. */
function isListOf({ properties }: JsonObject): boolean {
  if (!isJsonObject(properties ?? null)) return false
  const { args, ...others } = properties as JsonObject
  return isJsonObject(args ?? null) && (args as JsonObject).type === 'array' && Object.keys(others).length === 0
}

function jsonSchemaOf(schema: StandardSchema): JsonObject | undefined {
  const { jsonSchema } = schema['~standard'] as WithJsonSchema
  try {
    const found = jsonSchema?.input?.({ target: TARGET })
    return isJsonObject(found as never) ? (parseJson(JSON.stringify(found)) as JsonObject) : undefined
  } catch {
    // Some schemas have no JSON form; the library still parses the arguments of each call.
    return undefined
  }
}

/** Converts arguments to the form that the tool takes: one value, or a list. */
export function argumentsFor({ spec, description }: DescribedTool, value: unknown): unknown {
  if (spec.takes === 'value') return value
  const listed = isListOf(description.parameters) && isJsonObject(value as never) ? (value as JsonObject).args : value
  return Array.isArray(listed) ? listed : [listed]
}
