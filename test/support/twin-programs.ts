/** Programs over values and errors, each of which logs all that its code sees: as text, in the order of the members. */
import { inspect } from 'node:util'
import fc from 'fast-check'
import { AgentError } from '../../src/agent/errors.ts'
import { currentCall } from '../../src/agent/runtime/execution-context.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { NO_WAIT } from '../agent/homes.ts'

export type Step =
  | {
      readonly kind: 'call'
      readonly arg: unknown
      readonly gives: unknown
      readonly changes: boolean
      readonly again: boolean
    }
  | { readonly kind: 'fails'; readonly how: keyof typeof THROWN; readonly retries: number }
  | { readonly kind: 'once'; readonly gives: unknown }
  | { readonly kind: 'model'; readonly gives: unknown; readonly fails: boolean }
  | { readonly kind: 'handoff'; readonly payload: object }
  | { readonly kind: 'step'; readonly payload: object }
  | { readonly kind: 'saga'; readonly arg: unknown; readonly gives: unknown; readonly fails: boolean }
  | { readonly kind: 'fork'; readonly payload: object }
  | { readonly kind: 'nested'; readonly gives: unknown; readonly fails: boolean }
  | { readonly kind: 'budget' }

const KEY = fc.constantFrom('z', 'a', 'id', 'cents', '10', '9', 'é', 'B', 'value', '$codec')
const LEAF = fc.constantFrom<unknown>(null, true, 0, -0, 1e21, 0.1, -7, '', 'text', 'ß\u2028', 'Date')
const { value: PLAIN } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    LEAF,
    fc.array(tie('value'), { maxLength: 3 }),
    record(tie('value')),
  ),
}))
const OBJECT = record(PLAIN)
/** What the codecs keep, and what JSON leaves out. */
export const RICH = fc.oneof(
  { weight: 3, arbitrary: OBJECT },
  { weight: 1, arbitrary: PLAIN },
  { weight: 1, arbitrary: fc.record({ when: fc.constant(new Date(0)), b: PLAIN, a: PLAIN }) },
  {
    weight: 1,
    arbitrary: fc.record({
      map: fc.array(fc.tuple(KEY, OBJECT), { maxLength: 2 }).map((all) => new Map(all)),
      a: PLAIN,
    }),
  },
)
export const LOSSY = fc.oneof(
  { weight: 3, arbitrary: RICH },
  { weight: 1, arbitrary: fc.record({ z: fc.constant(undefined), b: PLAIN, a: PLAIN }) },
)

function record(value: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .uniqueArray(fc.tuple(KEY, value), { selector: ([key]) => key, minLength: 1, maxLength: 4 })
    .map((entries) => Object.fromEntries(entries))
}

/** What contexts hold is judged by their keys: these are free. */
const CONTEXT = fc.record(
  { zeta: PLAIN, alpha: fc.constantFrom('x', 'y'), notes: OBJECT },
  { requiredKeys: ['zeta', 'notes'] },
)

export const PROGRAM: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('call' as const),
        arg: RICH,
        gives: LOSSY,
        changes: fc.boolean(),
        again: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('fails' as const),
        how: fc.constantFrom('own', 'other', 'text', 'object', 'provider', 'ours'),
        retries: fc.nat(1),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('once' as const), gives: LOSSY }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('model' as const), gives: OBJECT, fails: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('handoff' as const), payload: CONTEXT }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('step' as const), payload: CONTEXT }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('saga' as const), arg: RICH, gives: LOSSY, fails: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('fork' as const), payload: CONTEXT }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('nested' as const), gives: LOSSY, fails: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('budget' as const) }) },
  ),
  { minLength: 1, maxLength: 5 },
)

/** A class of the author's own, which the tool registers. */
export class NotFound extends Error {
  readonly code = 'NOT_FOUND'
  readonly where: unknown

  constructor(where: unknown) {
    super('nothing is there')
    this.name = 'NotFound'
    this.where = where
  }
}

class Unregistered extends Error {
  override readonly name = 'Unregistered'
  readonly detail = { z: 1, a: 2 }
}

const THROWN = {
  own: () => new NotFound({ z: 1, a: [2] }),
  other: () => new Unregistered('it broke', { cause: new Error('why') }),
  text: () => 'only a text',
  object: () => ({ code: 'E_PLAIN', message: 'a plain object' }),
  provider: () =>
    Object.assign(new Error('429 slow down'), { name: 'RateLimitError', status: 429, code: 'rate_limit' }),
  ours: () => new AgentError('missing-key', 'one of our own', { key: 'k' }),
}

/** The outer world: it knows its keys, so that a call which died on the way may be sent again. */
export class World {
  readonly #keys = new Set<string>()

  act(key: string): void {
    this.#keys.add(key)
  }

  get effects(): number {
    return this.#keys.size
  }
}

export interface Observed {
  /** All that the code has seen. */
  readonly log: string[]
  /** What tools and compensations were given, which only the life has that carries them out. */
  readonly inside: ReadonlyMap<string, string>
  readonly body: (run: Run<unknown>) => Promise<unknown>
}

export const shown = (value: unknown): string =>
  inspect(value, { depth: 30, breakLength: Number.POSITIVE_INFINITY, maxStringLength: null })

/** An error as code may look at it. What only one life can have (`cause`, `stack`) is not asked for. */
export function seen(error: unknown): string {
  if (!(error instanceof Error)) return `no error: ${shown(error)}`
  const { name, message } = error
  const { code, status, where } = error as { code?: unknown; status?: unknown; where?: unknown }
  const own = Object.keys(error).filter((key) => key !== 'evidence' && key !== 'cause')
  return shown({
    class: error.constructor.name,
    isOwn: error instanceof NotFound,
    name,
    message,
    code,
    status,
    where,
    own,
  })
}

/** The program's code, over its own tools, in one life. */
export function observed(cs: Countersign<unknown>, program: readonly Step[], world: World): Observed {
  const log: string[] = []
  const inside = new Map<string, string>()
  const given = (what: string, value: unknown): void => void inside.set(what, shown(value))
  const see = (what: string, value: unknown): void => {
    log.push(`${what} ${typeof value === 'string' ? value : shown(value)}`)
  }
  const act = (): void => world.act(currentCall()?.idempotencyKey ?? '')
  const tell = cs.tool((_: string) => act(), {
    name: 'tell',
    onUnknown: 'retry',
    dedupe: 'position',
    compensate: 'not-needed',
  })
  const options = { onUnknown: 'retry', backoff: NO_WAIT, compensate: 'not-needed' } as const
  const parts = program.map((step, i) => partOf(step, { cs, i, options, act, see, given }))
  const body = async (run: Run<unknown>): Promise<unknown> => {
    see('input', run.input)
    for (const part of parts) {
      try {
        await part(run)
      } catch (error) {
        if (error instanceof AgentError && error.code.endsWith('-diverged')) throw error
        see('caught', seen(error))
      }
      // What was seen goes on into the next call, as a message of a model's conversation does.
      await tell(normal(log.at(-1) ?? ''))
    }
    return { z: log.length, a: program.map((step) => ('gives' in step ? step.gives : null)) }
  }
  return { log, inside, body }
}

/** Ids and times differ from run to run. */
export function normal(text: string): string {
  return (
    text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, 'ID')
      .replaceAll(/[0-9a-f]{64}/g, 'DIGEST')
      .replaceAll(/\b20\d\d-\d\d-\d\dT[0-9:.]+Z/g, 'TIME')
      .replaceAll(/runId: '[^']*'/g, 'runId')
      // A try that died counts, as it should, and moves what comes after.
      .replaceAll(/(attempts|revision): \d+/g, '$1')
      .replaceAll(/\d+ spent/g, 'spent')
  )
}

interface At {
  readonly cs: Countersign<unknown>
  readonly i: number
  readonly options: { readonly onUnknown: 'retry'; readonly backoff: typeof NO_WAIT; readonly compensate: 'not-needed' }
  readonly act: () => void
  readonly see: (what: string, value: unknown) => void
  readonly given: (what: string, value: unknown) => void
}

function partOf(step: Step, at: At): (run: Run<unknown>) => Promise<unknown> {
  const { cs, i, options, act, see } = at
  if (step.kind === 'call') return calling(step, at)
  if (step.kind === 'fails') {
    const fails = cs.tool(
      () => {
        act()
        throw THROWN[step.how]()
      },
      { ...options, name: `fails${i}`, retries: step.retries, errors: [NotFound] },
    )
    return () => fails()
  }
  if (step.kind === 'once') return async (run) => see('once', await run.once(`value${i}`, () => step.gives))
  if (step.kind === 'model') return async (run) => see('model', await run.model(modelOf(step, i)))
  if (step.kind === 'handoff')
    return async (run) => {
      see('handoff', normal(shown(await run.handoff(step.payload, { agent: 'author', mode: 'replace' }))))
      see('context', await run.context())
    }
  if (step.kind === 'step')
    return async (run) => {
      const made = await run.step(`agent${i}`, (context) => {
        return { ...step.payload, draft: JSON.stringify(context) }
      })
      see('step', made.payload)
    }
  if (step.kind === 'fork')
    return async (run) => {
      const branches = ['p', 'q'].map((name) => ({
        name,
        agent: name,
        run: () => ({ ...step.payload, [`own${name}`]: name }),
      }))
      const { output, established, receipts } = await run.fork(branches, {
        join: 'vote',
        score: () => 1,
        agent: 'author',
      } as never)
      see('fork', { output, established, receipts })
    }
  if (step.kind === 'budget') {
    const costly = cs.tool(() => act(), { ...options, name: `costly${i}`, reserve: { tokens: 1_000_000 } })
    return () => costly()
  }
  return step.kind === 'saga' ? sagaOf(step, at) : nestedOf(step, at)
}

function calling(step: Extract<Step, { kind: 'call' }>, { cs, i, options, act, see, given }: At) {
  const told = cs.tool(
    (arg: unknown) => {
      act()
      given(`argument ${i}`, arg)
      if (step.changes && typeof arg === 'object' && arg !== null) Object.assign(arg, { changed: true })
      return step.gives
    },
    { ...options, name: `call${i}`, dedupe: 'args' },
  )
  return async (): Promise<void> => {
    const arg = structuredClone(step.arg)
    const result = await told(arg)
    see('result', result)
    see('argument after', arg)
    if (step.changes && typeof result === 'object' && result !== null) Object.assign(result, { changed: true })
    if (step.again) see('again', await told(structuredClone(step.arg)))
  }
}

function modelOf({ gives, fails }: { gives: unknown; fails: boolean }, i: number) {
  return {
    provider: 'p',
    model: 'm',
    request: { prompt: i, z: 1, a: 2 },
    retries: 0,
    maxOutputTokens: 10,
    price: 'free' as const,
    call: () => {
      if (fails) throw THROWN.provider()
      return gives
    },
  }
}

function sagaOf(step: Extract<Step, { kind: 'saga' }>, { cs, i, options, act, see, given }: At) {
  const first = cs.tool(
    (_: unknown) => {
      act()
      return step.gives
    },
    { ...options, name: `first${i}`, compensate: (what) => given(`undone ${i}`, what) },
  )
  const second = cs.tool(
    () => {
      act()
      if (step.fails) throw THROWN.other()
    },
    { ...options, name: `second${i}` },
  )
  return async (run: Run<unknown>): Promise<void> => {
    const document = await run.saga([{ tool: first, args: [structuredClone(step.arg)] }, { tool: second }])
    see('saga', document)
    see('id', await run.uuid())
  }
}

function nestedOf(step: Extract<Step, { kind: 'nested' }>, { cs, i, see }: At) {
  return async (): Promise<void> => {
    const nested = cs.run({ name: `nested${i}`, input: { z: 1, a: 2 } }, async () => {
      if (step.fails) throw THROWN.other()
      return step.gives
    })
    see('nested', step.fails ? await nested.catch((error: unknown) => seen(error)) : await nested)
  }
}
