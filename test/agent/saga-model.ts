/** @module A small model of sagas: what each step does, and what the runtime must make of it. */
import fc from 'fast-check'
import { OutcomeUnknown } from '../../src/agent/errors.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import type { RollbackStatus } from '../../src/agent/saga/outcome.ts'
import type { StepStatus } from '../../src/agent/saga/saga-result.ts'
import { NO_WAIT } from './homes.ts'

interface StepPlan {
  /** So many executions fail, over all tries of the saga. */
  readonly fails: number
  readonly retries: number
  readonly retryScope: 'tool' | 'transaction'
  readonly onFailure: 'roll-back' | 'continue'
  /** The first execution that does not fail cannot tell its outcome. */
  readonly unknown: boolean
  readonly onUnknown: 'retry' | 'in-doubt'
  readonly check: 'none' | 'done' | 'not-done'
  readonly compensate: 'ok' | 'flaky' | 'fails' | 'none' | 'not-needed'
  readonly compensateUnknown: boolean
  /** Calls another tool first, which can be undone. */
  readonly nested: boolean
}

export type SagaPlan = readonly (readonly StepPlan[])[]

const step: fc.Arbitrary<StepPlan> = fc.record({
  fails: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.integer({ min: 1, max: 4 }) }),
  retries: fc.integer({ min: 0, max: 2 }),
  retryScope: fc.constantFrom('tool', 'transaction'),
  onFailure: fc.constantFrom('roll-back', 'roll-back', 'continue'),
  unknown: fc.oneof({ weight: 7, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  onUnknown: fc.constantFrom('retry', 'in-doubt'),
  check: fc.constantFrom('none', 'done', 'not-done'),
  compensate: fc.oneof(
    { weight: 6, arbitrary: fc.constant('ok' as const) },
    { weight: 4, arbitrary: fc.constantFrom('flaky', 'fails', 'none', 'not-needed') },
  ),
  compensateUnknown: fc.boolean(),
  nested: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
})

export const sagas: fc.Arbitrary<SagaPlan> = fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 4,
})

/** What happened outside of the ledger. */
export interface World {
  readonly executions: Record<string, number>
  readonly undone: string[]
}

export const nameOf = (group: number, index: number): string => `t${group}-${index}`

/** Registers a tool for each step. */
export function registerTools(cs: Countersign, plan: SagaPlan, world: World): void {
  for (const [g, group] of plan.entries()) {
    for (const [i, given] of group.entries()) registerTool(cs, nameOf(g, i), given, world)
  }
}

function registerTool(cs: Countersign, name: string, plan: StepPlan, world: World): void {
  const { fails, unknown, check, compensate, nested, ...options } = plan
  const inner = cs.tool(() => count(world, `${name}.inner`), {
    name: `${name}.inner`,
    compensate: () => void world.undone.push(`${name}.inner`),
  })
  const undo = (_: unknown, { attempt }: { attempt: number }): void => {
    if (compensate === 'fails' || (compensate === 'flaky' && attempt < 3)) throw new Error('cannot be undone now')
    world.undone.push(name)
  }
  cs.tool(
    async () => {
      if (nested) await inner()
      const n = count(world, name)
      if (n <= fails) throw new Error(`failure ${n}`)
      if (unknown && n === fails + 1) throw new OutcomeUnknown()
      return `${name}:${n}`
    },
    {
      ...options,
      name,
      backoff: NO_WAIT,
      ...(compensate === 'not-needed' && { compensate }),
      ...(['ok', 'flaky', 'fails'].includes(compensate) && { compensate: undo }),
      ...(check !== 'none' && { check: () => (check === 'done' ? { done: true, result: 'found' } : { done: false }) }),
    },
  )
}

function count(world: World, name: string): number {
  const n = (world.executions[name] ?? 0) + 1
  world.executions[name] = n
  return n
}

export interface Expected {
  readonly status: 'SUCCESS' | 'PARTLY_SUCCEEDED' | RollbackStatus
  readonly tries: number
  readonly steps: readonly { readonly status: StepStatus; readonly attempts: number }[]
  readonly executions: Readonly<Record<string, number>>
  readonly undone: readonly string[]
}

interface StepFate {
  readonly name: string
  readonly plan: StepPlan
  status: StepStatus
  attempts: number
}

/** The whole saga, by the rules of the contract alone. */
export function expectedOf(plan: SagaPlan): Expected {
  const world: World = { executions: {}, undone: [] }
  for (let tries = 1; ; tries += 1) {
    const fates = oneTry(plan, world, tries)
    const failed = fates.find((fate) => stops(fate, tries))
    if (failed === undefined) {
      const status = fates.every((fate) => fate.status === 'succeeded') ? 'SUCCESS' : 'PARTLY_SUCCEEDED'
      return { status, tries, steps: shown(fates), ...world }
    }
    const status = rollBack(fates, world)
    const again = failed.plan.retryScope === 'transaction' && tries <= failed.plan.retries && status === 'COMPENSATED'
    if (!again) return { status, tries, steps: shown(fates), ...world }
  }
}

const shown = (fates: readonly StepFate[]) => fates.map(({ status, attempts }) => ({ status, attempts }))

/** A failure that is known, and that no whole new try may mend, is passed over where the step says so. */
function stops({ status, plan }: StepFate, tries: number): boolean {
  if (status === 'in-doubt') return true
  const isLastTry = plan.retryScope === 'tool' || tries > plan.retries
  return status === 'failed' && !(plan.onFailure === 'continue' && isLastTry)
}

function oneTry(plan: SagaPlan, world: World, tries: number): StepFate[] {
  const fates: StepFate[] = []
  let stopped = false
  for (const [g, group] of plan.entries()) {
    const now = group.map((each, i): StepFate => ({ name: nameOf(g, i), plan: each, status: 'not-run', attempts: 0 }))
    if (!stopped) for (const fate of now) carryOut(fate, world)
    stopped ||= now.some((fate) => stops(fate, tries))
    fates.push(...now)
  }
  return fates
}

function carryOut(fate: StepFate, world: World): void {
  const { plan, name } = fate
  if (plan.nested) count(world, `${name}.inner`)
  for (let failures = 1; ; failures += 1) {
    const n = count(world, name)
    fate.attempts += 1
    const mayRetry = plan.retryScope === 'tool' && failures <= plan.retries
    if (n > plan.fails) {
      fate.status = plan.unknown && n === plan.fails + 1 ? afterUnknown(plan, mayRetry) : 'succeeded'
      if (fate.status !== 'not-run') return
    } else if (!mayRetry) {
      fate.status = 'failed'
      return
    }
  }
}

/** `not-run`: to be run again. */
function afterUnknown(plan: StepPlan, mayRetry: boolean): StepStatus {
  if (plan.check === 'done') return 'succeeded'
  if (plan.check === 'not-done') return mayRetry ? 'not-run' : 'failed'
  return plan.onUnknown === 'retry' && mayRetry ? 'not-run' : 'in-doubt'
}

function rollBack(fates: readonly StepFate[], world: World): RollbackStatus {
  const has = { unknown: false, failed: false, standing: false }
  for (const fate of [...fates].reverse()) {
    const { plan, name, status } = fate
    const undoable = plan.compensate !== 'none' && plan.compensate !== 'not-needed'
    const answers = undoable && status !== 'failed'
    if (plan.nested && status !== 'not-run' && !answers) world.undone.push(`${name}.inner`)
    const done = status === 'succeeded' || (status === 'in-doubt' && plan.compensateUnknown)
    if (done && undoable) {
      fate.status = plan.compensate === 'fails' ? 'compensation-failed' : 'compensated'
      if (plan.compensate === 'fails') has.failed = true
      else world.undone.push(name)
    } else if (status === 'in-doubt') has.unknown = true
    else if (status === 'succeeded' && plan.compensate === 'none') has.standing = true
  }
  if (has.unknown) return 'IN_DOUBT'
  if (has.failed) return 'COMPENSATION_FAILED'
  return has.standing ? 'PARTLY_COMPENSATED' : 'COMPENSATED'
}
