/** @module Sagas as data: a sequence of steps, possibly chosen by a model, validated before anything runs. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { ToolRegistry, ToolSpec } from '../calls/tool-spec.ts'
import { specOf } from '../calls/wrap-tool.ts'
import { AgentError } from '../errors.ts'
import { anything, checkOptions, type OptionRules, text } from '../option-rules.ts'

/** One step: a tool and its arguments. Invalid steps throw `invalid-saga` or `unknown-tool`. */
export interface SagaStep {
  /** A tool, or its name. */
  readonly tool: string | ((...args: never[]) => unknown)
  /** Arguments as the tool takes them: a list for a wrapped function (any other value is its only argument), a value for a defined tool. */
  readonly args?: unknown
  /** Default: the position of the step, such as `1` or `2.1`. */
  readonly id?: string
  /** Once retries are used up: roll the saga back (`roll-back`), or continue without this step (`continue`). Default: the setting of the tool. */
  readonly onFailure?: 'roll-back' | 'continue'
}

/** Steps and groups, in order; the steps of a group run concurrently. */
export type SagaSteps = readonly (SagaStep | readonly SagaStep[])[]

export interface PlannedStep {
  readonly id: string
  readonly group: number
  readonly spec: ToolSpec
  readonly args: unknown
  readonly onFailure: 'roll-back' | 'continue'
}

const STEP: OptionRules<SagaStep> = { tool: anything, args: anything, id: text, onFailure: anything }

/** Validates the steps of a saga and gives each its place. Throws `invalid-saga`, `invalid-option` and `unknown-tool`. */
export function planSaga(steps: SagaSteps, registry: ToolRegistry): readonly (readonly PlannedStep[])[] {
  if (!Array.isArray(steps)) throw invalid('a saga is a list of steps and groups of steps', {})
  registry.mustBeWhole()
  const groups = steps.map((group: unknown, g) => {
    const listed: readonly unknown[] = Array.isArray(group) ? group : [group]
    return listed.map((step, s) =>
      planStep(step, { place: Array.isArray(group) ? `${g + 1}.${s + 1}` : `${g + 1}`, group: g, registry }),
    )
  })
  const ids = groups.flat().map(({ id }) => id)
  const twice = ids.find((id, i) => ids.indexOf(id) !== i)
  if (twice !== undefined) throw invalid(`two steps are named ${twice}`, { id: twice })
  return groups
}

function planStep(
  step: unknown,
  { place, group, registry }: { place: string; group: number; registry: ToolRegistry },
): PlannedStep {
  if (typeof step !== 'object' || step === null || Array.isArray(step) || !('tool' in step)) {
    throw invalid(`step ${place} is no {tool, args}: a group holds steps, not groups`, { step: place })
  }
  checkOptions(`step ${place}`, step, STEP)
  const { tool, args, id = place, onFailure } = step as SagaStep
  const spec = typeof tool === 'string' ? registry.get(tool) : registered(specOf(tool), registry)
  if (spec === undefined) {
    const name = typeof tool === 'string' ? tool : 'a function that cs.tool did not make'
    throw new AgentError('unknown-tool', `step ${place} asks for ${name}, which is no tool here`, {
      step: place,
      tool: name,
    })
  }
  if (onFailure !== undefined && onFailure !== 'continue' && onFailure !== 'roll-back') {
    throw invalid(`onFailure of step ${place} is "roll-back" or "continue"`, { step: place })
  }
  return { id, group, spec, args: argsFor(spec, args), onFailure: onFailure ?? spec.onFailure }
}

function registered(spec: ToolSpec | undefined, registry: ToolRegistry): ToolSpec | undefined {
  return spec !== undefined && registry.get(spec.name) === spec ? spec : undefined
}

function argsFor({ takes }: ToolSpec, args: unknown): unknown {
  if (takes === 'value') return args
  if (args === undefined) return []
  return Array.isArray(args) ? args : [args]
}

function invalid(message: string, details: JsonObject): AgentError {
  return new AgentError('invalid-saga', message, details)
}
