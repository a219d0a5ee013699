/** @module The recorded forks of a run, served in place of live ones: winner and order come from the record (RUN-42). */

import type { JoinStrategy, OnDiscard } from '../../../schemas/fork.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { type DivergenceCode, ResumeDiverged } from '../errors.ts'
import type { RecordedFork } from './recorded-forks.ts'

const SHOWN_MAX = 10

/** The properties of a requested fork that the record holds as well. */
export interface ForkShape {
  readonly branches: readonly { readonly name: string; readonly agent: string; readonly scope: string }[]
  readonly join: JoinStrategy
  readonly onDiscard: OnDiscard
}

export class ForkBook {
  readonly #code: DivergenceCode
  /** Recorded forks that the current code has not requested. */
  readonly #unasked: Set<RecordedFork>

  constructor(forks: readonly RecordedFork[], code: DivergenceCode) {
    this.#code = code
    this.#unasked = new Set(forks)
  }

  get isBehind(): boolean {
    return this.#unasked.size > 0
  }

  /** The recorded fork for this plan. Throws `ResumeDiverged` if its branches differ. */
  served(plan: ForkShape): RecordedFork | undefined {
    const scopes = new Set(plan.branches.map(({ scope }) => scope))
    const fork = [...this.#unasked].find(({ started }) => started.branches.some(({ scope }) => scopes.has(scope)))
    if (fork === undefined) return undefined
    const [expected, actual] = [recordedShape(fork), plannedShape(plan)]
    if (JSON.stringify(expected) !== JSON.stringify(actual)) throw this.#diverged(expected, actual)
    this.#unasked.delete(fork)
    return fork
  }

  /** The divergence if a new fork is requested while the record has a fork with other branch names in the same scope. */
  anotherIn({
    what,
    name,
    scope,
  }: {
    readonly what: string
    readonly name: string
    readonly scope: string | undefined
  }) {
    if (what !== 'fork') return undefined
    const other = [...this.#unasked].find(({ started }) => parentOf(started.branches[0]?.scope) === (scope ?? ''))
    return other === undefined ? undefined : this.#diverged(recordedShape(other), { branches: name })
  }

  /** Forks inside a call count as requested, because the call is served. */
  passedOver(covers: (scope: string) => boolean, until: number): void {
    for (const fork of this.#unasked) {
      if (fork.index > until) continue
      if (fork.started.branches.some(({ scope }) => covers(scope))) this.#unasked.delete(fork)
    }
  }

  /** The divergence for a fork whose verdict is not recorded. */
  unknown(plan: ForkShape): ResumeDiverged {
    return this.#diverged(null, plannedShape(plan))
  }

  /** Whether recorded forks in these scopes are unrequested. */
  isLeft({ isCounted }: { readonly isCounted: (scope?: string) => boolean }): boolean {
    return [...this.#unasked].some(({ started }) => isCounted(started.branches[0]?.scope))
  }

  /** Throws if recorded forks, up to an event if given, were never requested. */
  mustBeSpent({ until = Number.POSITIVE_INFINITY }: { readonly until?: number } = {}): void {
    const remaining = [...this.#unasked]
      .filter(({ index }) => index <= until)
      .slice(0, SHOWN_MAX)
      .map(recordedShape)
    if (remaining.length === 0) return
    const message = 'the record holds forks that the code did not ask for'
    throw new ResumeDiverged(message, { expected: remaining, actual: null }, this.#code)
  }

  #diverged(expected: JsonObject | null, actual: JsonObject): ResumeDiverged {
    const holds = expected === null ? 'no verdict on one there' : 'another one there'
    const message = `the code forks, and the record holds ${holds}: nothing was run`
    return new ResumeDiverged(message, { expected, actual }, this.#code)
  }
}

/** The scope that contains a branch's scope. */
function parentOf(scope = ''): string {
  return scope.slice(0, Math.max(0, scope.lastIndexOf('/')))
}

function recordedShape({ started }: RecordedFork): JsonObject {
  const { join, onDiscard, branches } = started
  return { join, onDiscard, branches: branches.map(({ name, agent, scope }) => ({ name, agent, scope })) }
}

function plannedShape({ join, onDiscard, branches }: ForkShape): JsonObject {
  return { join, onDiscard, branches: branches.map(({ name, agent, scope }) => ({ name, agent, scope })) }
}
