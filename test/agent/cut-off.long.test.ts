/** @module The ledger fails the runtime once, or for good, at each single question that a run asks it: every promise settles, and nobody is left without a listener. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { trackOpenAI } from '../../src/agent/models/track-openai.ts'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import { currentCall } from '../../src/agent/runtime/execution-context.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { LedgerError, UnreachableError } from '../../src/client/errors.ts'
import { within } from '../support/within.ts'
import { HOMES, LONG_MS, NO_WAIT } from './homes.ts'

const test = suite('a runtime whose ledger fails')

const FAULTS = {
  /** Nothing arrived. */
  lost: { arrives: false, error: () => new UnreachableError('cut on the way there') },
  /** It was carried out, and nobody heard of it. */
  unheard: { arrives: true, error: () => new UnreachableError('cut on the way back') },
  refused: { arrives: false, error: () => new LedgerError(500, { code: 'internal', detail: 'out of order' }) },
  broken: { arrives: false, error: () => new TypeError('broken machinery') },
} as const
type FaultName = keyof typeof FAULTS

interface Fault {
  readonly name: FaultName
  /** The first question that fails, from 1. */
  readonly at: number
  /** Else every question from there on. */
  readonly once: boolean
}

/** Between the runtime and its ledger: each question, and each event that is read, is one place where it may break. */
function breaking(connection: Connection, { name, at, once }: Fault) {
  let questions = 0
  const { arrives, error } = FAULTS[name]
  const breaksNow = (): boolean => {
    questions += 1
    return once ? questions === at : questions >= at
  }
  const asked = async <T>(ask: () => Promise<T>): Promise<T> => {
    const breaks = breaksNow()
    const answer = breaks && !arrives ? undefined : await ask()
    if (breaks) throw error()
    return answer as T
  }
  async function* read<T>(items: AsyncIterable<T>): AsyncGenerator<T, void> {
    for await (const item of items) {
      if (breaksNow()) throw error()
      yield item
    }
    if (breaksNow()) throw error()
  }
  const broken: Connection = {
    ...connection,
    execute: (...input) => asked(() => connection.execute(...input)),
    batch: (...input) => asked(() => connection.batch(...input)),
    context: (run) => asked(() => connection.context(run)),
    calls: (run) => asked(() => connection.calls(run)),
    compensations: (run) => asked(() => connection.compensations(run)),
    budget: (run) => asked(() => connection.budget(run)),
    events: (...input) => read(connection.events(...input)),
    runs: (filter) => read(connection.runs(filter)),
    exportRun: (run) => read(connection.exportRun(run)),
  }
  return { connection: broken, questions: () => questions }
}

/** What was done out there, under which key. */
type World = string[]

const TICK_MS = 500

const PROVIDER = {
  chat: {
    completions: {
      create: async (request: JsonObject) =>
        request.stream === true
          ? (async function* () {
              for (const content of ['a', 'b', 'c']) yield { choices: [{ delta: { content } }] }
              yield { choices: [], usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 } }
            })()
          : { choices: [{ message: { content: 'abc' } }], usage: { prompt_tokens: 3, completion_tokens: 3 } },
    },
  },
}

/** A run with a bit of everything: calls side by side, a handoff that a judge sees, a step, a saga that is rolled back, forks, models, and a bad end. */
function carry(cs: Countersign, world: World, fails: boolean) {
  const note = (what: string): number => world.push(`${what} ${currentCall()?.idempotencyKey}`)
  const work = cs.tool(async (n: number) => note(`work ${n}`), { name: 'work', compensate: () => void note('undo') })
  cs.tool({
    name: 'bad',
    backoff: NO_WAIT,
    execute: async () => {
      throw new Error('bad luck')
    },
  })
  const models = trackOpenAI(PROVIDER, { price: 'free', maxOutputTokens: 10 })
  const request = { model: 'm', messages: [] }
  const judge = { name: 'judge', judge: () => ({ verdict: 'accept' }) as const }
  const options = { id: 'r', judge, budget: { tokens: 100_000 }, policy: { ungrounded: 'off' as const, protect: [] } }
  const body = async (run: Run<null>): Promise<string> => {
    await Promise.all([work(1), work(2), run.uuid()])
    await run.handoff({ facts: ['one'] }, { agent: 'ann' })
    await run.step('ben', () => ({ facts: ['one', 'two'] }))
    await run.saga([{ tool: 'work', args: [3] }, [{ tool: 'work', args: [4] }, { tool: 'bad' }]])
    const branch = (agent: string, n: number) => ({
      agent,
      run: async () => ({ facts: [agent, `${(await work(n)) > 0}`] }),
    })
    await run.fork([branch('cem', 5), branch('dan', 6)], { join: 'union' })
    await run.fork([branch('eva', 7), branch('fay', 8)], { join: 'first_wins' })
    await models.chat.completions.create(request)
    let said = ''
    const stream = (await models.chat.completions.create({ ...request, stream: true })) as AsyncIterable<JsonObject>
    for await (const chunk of stream) said += JSON.stringify(chunk).length
    if (fails) throw new Error('a bad end')
    return said
  }
  return cs.run(options, body)
}

/** A life that meets the fault, and one after it that meets none. What went wrong, or undefined. */
async function survived(
  fault: Fault,
  fails: boolean,
): Promise<{ readonly questions: number; readonly wrong?: string }> {
  await using home = await (HOMES[0] as (typeof HOMES)[number]).open()
  const world: World = []
  // Leases run out soon: whoever claimed and never heard of it waits for its own.
  const ticking = setInterval(() => {
    home.clock.nowMs += TICK_MS
  }, 10)
  using _ = { [Symbol.dispose]: () => clearInterval(ticking) }
  const broken = breaking(home.connection, fault)
  const cs = home.process(() => broken.connection)
  const where = `${fault.name} ${fault.once ? 'once' : 'for good'} at question ${fault.at}${fails ? ', a run that fails' : ''}`
  const first = await outcome(within(carry(cs, world, fails), where))
  const { questions } = await settledQuestions(broken.questions)
  if (first.error !== undefined && !(first.error instanceof Error && first.error.message !== ''))
    return { questions, wrong: `${where}: threw ${String(first.error)}` }
  home.clock.nowMs += LONG_MS
  const again = await outcome(within(carry(home.process(), world, fails), `${where}, resumed`))
  if (again.error !== undefined && !(again.error instanceof Error && again.error.message !== ''))
    return { questions, wrong: `${where}: resumed, it threw ${String(again.error)}` }
  const twice = world.filter((each, i) => world.indexOf(each) !== i)
  return twice.length === 0 ? { questions } : { questions, wrong: `${where}: done twice: ${twice.join(', ')}` }
}

async function outcome(promise: Promise<unknown>): Promise<{ readonly error?: unknown }> {
  try {
    await promise
    return {}
  } catch (error) {
    return { error }
  }
}

/** What still goes on behind a run that ended is given time to come to nothing. */
async function settledQuestions(count: () => number): Promise<{ readonly questions: number }> {
  for (let seen = -1; seen !== count(); ) {
    seen = count()
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  return { questions: count() }
}

for (const fails of [false, true]) {
  const which = fails ? 'a run that fails' : 'a run'
  test(`${which} whose ledger fails at any one question, or from it on, settles, leaves no promise without a listener, and does nothing twice (F100)`, async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    try {
      const { questions } = await survived({ name: 'lost', at: Number.POSITIVE_INFINITY, once: true }, fails)
      assert.ok(questions > 40, `the run asks ${questions} questions`)
      // Side by side: what waits for a ledger that stays away waits for seconds.
      const faults = Array.from({ length: questions }, (_, n) => n + 1).flatMap((at): Fault[] => [
        ...(Object.keys(FAULTS) as FaultName[]).map((name) => ({ name, at, once: true })),
        { name: 'lost', at, once: false },
      ])
      const all = await Promise.all(faults.map((fault) => survived(fault, fails)))
      const wrong = all.flatMap((each) => each.wrong ?? [])
      assert.equal(wrong, [])
      assert.equal(unhandled.map(String), [])
    } finally {
      process.off('unhandledRejection', note)
    }
  })
}

test.run()
