/** @module Creates a tool from a function or a definition. Its calls are recorded inside a run and refused outside. */

import { AgentError } from '../errors.ts'
import { currentExecution } from '../runtime/execution-context.ts'
import { callTool } from './call.ts'
import { checkTool } from './check-tool.ts'
import type { Codecs } from './codecs.ts'
import { isMinified } from './minified-name.ts'
import type { CallContext, ToolOptions } from './tool-options.ts'
import { type ToolRegistry, type ToolSpec, toolSpec } from './tool-spec.ts'

type AnyFunction = (...args: readonly unknown[]) => unknown
type AnyDefinition = ToolOptions & { readonly execute: AnyFunction; readonly input?: ToolSpec['input'] }

const specs = new WeakMap<object, ToolSpec>()

/** The spec of a tool; undefined for any other function. */
export function specOf(tool: unknown): ToolSpec | undefined {
  return typeof tool === 'function' ? specs.get(tool) : undefined
}

/** The public types are those of `Countersign.tool`. */
export function wrapTool(registry: ToolRegistry, what: AnyFunction | AnyDefinition, options: ToolOptions): unknown {
  const wrapped = typeof what === 'function'
  if (!wrapped && (typeof what !== 'object' || what === null)) throw noFunction()
  checkTool(String(options.name ?? what.name ?? ''), wrapped ? options : what, !wrapped)
  if (!wrapped && typeof what.execute !== 'function') throw noFunction()
  const { codecs } = registry
  const spec = wrapped ? functionSpec(what, options, codecs) : definitionSpec(what, codecs)
  const tool = (...args: unknown[]): Promise<unknown> => callHere(registry, spec, wrapped ? args : args[0])
  registry.add(spec, tool)
  const { name, description, input } = spec
  Object.defineProperty(tool, 'name', { value: name })
  Object.assign(tool, {
    toolName: name,
    description,
    execute: wrapped ? what : what.execute,
    ...(!wrapped && { input }),
  })
  specs.set(tool, spec)
  return tool
}

function noFunction(): AgentError {
  const message = 'cs.tool(): its first argument is the function, or a definition with execute: cs.tool(fn, { name })'
  return new AgentError('invalid-option', message, { option: 'execute' })
}

function functionSpec(fn: AnyFunction, options: ToolOptions, codecs: Codecs): ToolSpec {
  const execute = (args: unknown): unknown => fn(...(args as readonly unknown[]))
  const name = options.name ?? fn.name
  if (options.name === undefined && isMinified(name)) {
    const message = `${name} looks like a name that a minifier made, and would be another one in the next build: pass {name}`
    throw new AgentError('tool-unnamed', message, { tool: name })
  }
  return toolSpec({ name, input: undefined, takes: 'list', arity: fn.length, execute, codecs }, options)
}

function definitionSpec(definition: AnyDefinition, codecs: Codecs): ToolSpec {
  const { name = '', input, execute } = definition
  const run = (args: unknown, context: CallContext): unknown => execute(args, context)
  return toolSpec({ name, input, takes: 'value', execute: run, codecs }, definition)
}

async function callHere(registry: ToolRegistry, spec: ToolSpec, args: unknown): Promise<unknown> {
  const execution = currentExecution()
  if (execution === undefined || execution.session.registry !== registry) {
    const message = `${spec.name} was called outside of a run: call it in cs.run(...), by run.call(...), or use .execute, the bare function`
    throw new AgentError('no-active-run', message, { tool: spec.name })
  }
  if (execution.undoing === true && execution.context !== undefined) return spec.execute(args, execution.context)
  return callTool(execution, spec, args)
}
