import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../schemas/json.ts'
import { RunWaiting, WaitTimedOut } from '../../src/agent/errors.ts'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { onAbort } from '../../src/resources/linked-signal.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter, rejection, type TestHome } from './homes.ts'

const ORDER = { id: 'r', name: 'order' } as const
const LEAVE = { ...ORDER, whenWaiting: 'leave' } as const

/** Resolves when the run waits, with what it was told. */
function waiting(home: TestHome): { readonly cs: Countersign; readonly waits: Promise<unknown> } {
  let told = (_: unknown): void => undefined
  const waits = new Promise((resolve) => {
    told = resolve
  })
  return { cs: home.process(undefined, { onWaiting: (notice) => told(notice) }), waits }
}

for (const { name, open } of HOMES) {
  const test = suite(`waiting ${name}`)

  test('a run waits for a signal and goes on with its payload; the record gives the same to every later life (RUN-66, RUN-67, RUN-69)', async () => {
    await using home = await open()
    const { cs, waits } = waiting(home)
    const body = async (run: Run) => ({ said: await run.waitFor('confirmed', { until: 60_000 }) })
    const going = cs.run({ id: 'r', name: 'order' }, body)
    await within(waits, 'the wait')
    const sent = await home.process().signal('r', 'confirmed', { by: 'bob' })
    assert.is(sent.status, 'delivered')
    assert.equal(await within(going, 'the run'), { said: { by: 'bob' } })
    const { verdict } = await home.process().replay('r', body)
    assert.is(verdict, 'exact')
  })

  test('a wait outlives its process: it is left without a rollback, and the next life gets what came meanwhile (RUN-66)', async () => {
    await using home = await open()
    const effects: string[] = []
    const life = (cs: Countersign) => {
      const book = cs.tool(() => effects.push('book'), { name: 'book', compensate: () => effects.push('undo') })
      return cs.run(LEAVE, async (run) => {
        await book()
        return run.waitFor('confirmed')
      })
    }
    const left = await rejection(life(home.process()))
    assert.ok(left instanceof RunWaiting)
    assert.is(outcomeOf(left)?.status, 'OPEN')
    assert.is(left.evidence.name, 'confirmed')
    assert.ok((await rejection(life(home.process()))) instanceof RunWaiting)
    await home.process().signal('r', 'confirmed', 'yes')
    assert.is(await life(home.process()), 'yes')
    assert.is(await life(home.process()), 'yes')
    assert.equal(effects, ['book'])
  })

  test('a timeout that lost its race holds up neither the end of the run nor a replay, under leave as well (RUN-64, RUN-173)', async () => {
    await using home = await open()
    for (const options of [{ id: 'waits' }, { id: 'leaves', whenWaiting: 'leave' as const }]) {
      const life = (cs: Countersign) => {
        const look = cs.tool(async (n: number) => n, { name: 'look', effects: 'none' })
        const work = cs.tool(async () => (await look(1)) + (await look(2)), { name: 'work', compensate: 'not-needed' })
        const body = async (run: Run) => Promise.race([work(), run.sleep(3_600_000).then(() => 'too late')])
        return { body, end: () => within(cs.run(options, body), 'the run') }
      }
      assert.is(await life(home.process()).end(), 3, options.id)
      assert.is(await life(home.process()).end(), 3, options.id)
      const cs = home.process()
      const { verdict, output } = await within(cs.replay(options.id, life(cs).body), 'the replay')
      assert.equal([verdict, output], ['exact', 3], options.id)
    }
  })

  test('a run is not left beside a call that was only just asked for (RUN-64)', async () => {
    await using home = await open()
    const told = Promise.withResolvers<void>()
    const change = (connection: Connection): Connection => ({
      ...connection,
      execute: async (runId, command, options) => {
        if (command.kind === 'claim') await told.promise
        return connection.execute(runId, command, options)
      },
    })
    const cs = home.process(change, { onWaiting: () => told.resolve() })
    const work = cs.tool(async () => 'worked', { name: 'work', compensate: 'not-needed' })
    const came = cs.run(LEAVE, async (run) => Promise.race([work(), run.sleep(3_600_000)]))
    assert.is(await within(came, 'the run'), 'worked')
  })

  test('a run within a run that waits does not leave the one around it while that goes on (RUN-64)', async () => {
    await using home = await open()
    const effects: string[] = []
    const { cs, waits } = waiting(home)
    const life = (by: Countersign) => {
      const note = by.tool(
        async (what: string) => {
          await waits
          effects.push(what)
        },
        { name: 'note', compensate: 'not-needed' },
      )
      return by.run(LEAVE, async () => {
        const inner = by.run({ id: 'inner', name: 'inner' }, (run) => run.waitFor('go'))
        inner.catch(() => undefined)
        await note('first')
        await note('second')
        return inner
      })
    }
    assert.is(codeOf(await within(rejection(life(cs)), 'the first life')), 'run-waiting')
    assert.equal(effects, ['first', 'second'])
    await home.process().signal('inner', 'go', 7)
    assert.is(await within(life(home.process()), 'the second life'), 7)
    assert.equal(effects, ['first', 'second'])
  })

  test('a wait that lost a race does not leave a run while a branch that lost is undone (RUN-64, RUN-173)', async () => {
    await using home = await open()
    const [booked, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const change = (connection: Connection): Connection => ({
      ...connection,
      execute: async (runId, command, options) => {
        const reply = await connection.execute(runId, command, options)
        if (command.kind === 'wait') asked.resolve()
        return reply
      },
    })
    const cs = home.process(change)
    const book = cs.tool(async () => 'b-1', { name: 'book', compensate: () => asked.promise })
    const winner = { agent: 'a', run: () => booked.promise.then(() => ({ n: 1 })) }
    const loser = {
      agent: 'b',
      run: async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
        await book()
        booked.resolve()
        return new Promise<never>((_resolve, reject) => onAbort(signal, reject))
      },
    }
    const came = cs.run(LEAVE, async (run) => {
      const { output } = await run.fork([winner, loser], { join: 'first_wins' })
      run.sleep(3_600_000).catch(() => undefined)
      return output
    })
    assert.equal(await within(came, 'the run'), { n: 1 })
  })

  test('a replay that diverges beside a wait which the run ended without comes to its end (RUN-173)', async () => {
    await using home = await open()
    const cs = home.process()
    const look = cs.tool(async (n: number) => n, { name: 'look', effects: 'none' })
    await cs.run({ id: 'r' }, async (run) => Promise.race([look(1), run.sleep(3_600_000)]))
    const replay = cs.replay('r', async (run) => {
      await Promise.allSettled([look(2), run.sleep(3_600_000)])
    })
    assert.is(codeOf(await within(rejection(replay), 'the replay')), 'replay-diverged')
  })

  test('a replay of code that needs a wait which the run ended without is told (RUN-173)', async () => {
    await using home = await open()
    const cs = home.process(undefined, { divergesAfterMs: 50 })
    await cs.run({ id: 'r' }, async (run) => Promise.race([cs.run({ id: 'c' }, () => 1), run.sleep(3_600_000)]))
    assert.is(codeOf(await rejection(cs.replay('r', (run) => run.sleep(3_600_000)))), 'replay-diverged')
  })

  test('a signal that comes before its wait is held, in order, and each ends one wait by its place (RUN-67)', async () => {
    await using home = await open()
    const cs = home.process()
    await home.connection.execute('', { kind: 'start', body: { id: 'r', name: 'order' } })
    for (const n of [1, 2, 3]) assert.is((await cs.signal('r', 'n', n)).status, 'held')
    const body = async (run: Run) => [
      await run.waitFor('n'),
      await run.scope('in', () => run.waitFor('n')),
      await run.waitFor('n'),
    ]
    assert.equal(await cs.run({ id: 'r', name: 'order' }, body), [1, 2, 3])
    assert.is((await cs.replay('r', body)).verdict, 'exact')
  })

  test('a wait that times out is an error that the code can catch: the same live, on resume and on replay (RUN-66)', async () => {
    await using home = await open()
    const caught: unknown[] = []
    const body = async (run: Run) => {
      const error = await rejection(run.waitFor('never', { until: 1_000 }))
      if (!(error instanceof WaitTimedOut)) throw error
      caught.push([error.code, error.message, error.evidence])
      return run.waitFor('later')
    }
    assert.ok((await rejection(home.process().run(LEAVE, body))) instanceof RunWaiting)
    home.clock.nowMs += 1_000
    assert.ok((await rejection(home.process().run(LEAVE, body))) instanceof RunWaiting)
    await home.process().signal('r', 'later', null)
    // One that comes too late ends no wait that is over.
    assert.is((await home.process().signal('r', 'never', 'late')).status, 'held')
    assert.is(await home.process().run(LEAVE, body), null)
    assert.is((await home.process().replay('r', body)).verdict, 'exact')
    assert.is(caught.length, 3)
    assert.equal(caught[0], caught[1])
    assert.equal(caught[0], caught[2])
    assert.is((caught[0] as unknown[])[0], 'wait-timed-out')
  })

  test('a payload that is too large for a signal is refused with the limit of signals, however large it is (RUN-67)', async () => {
    await using home = await open()
    const cs = home.process()
    const left = await rejection(cs.run(LEAVE, (run) => run.waitFor('go')))
    assert.is(codeOf(left), 'run-waiting')
    for (const bytes of [65_537, 600_000]) {
      const refused = await rejection(cs.signal('r', 'go', 'x'.repeat(bytes - 2)))
      assert.is(codeOf(refused), 'value-too-large')
      assert.match(String(refused), new RegExp(`${bytes} bytes, at most 65536 .*hand over less, or where it is kept`))
    }
    assert.is((await cs.signal('r', 'go', 'x'.repeat(65_534))).status, 'delivered')
  })

  test('a sleep lasts as long as its first call said, over lives, and is over once (RUN-66)', async () => {
    await using home = await open()
    const until = new Date(home.clock.nowMs + 3_000)
    const body = async (run: Run) => {
      await run.sleep(until)
      await run.sleep(60_000)
      return 'slept'
    }
    const life = () => home.process().run(LEAVE, body)
    assert.is(codeOf(await rejection(life())), 'run-waiting')
    home.clock.nowMs += 3_000
    assert.is(codeOf(await rejection(life())), 'run-waiting')
    home.clock.nowMs += 59_999
    assert.is(codeOf(await rejection(life())), 'run-waiting')
    home.clock.nowMs += 1
    assert.is(await life(), 'slept')
    assert.is((await home.process().replay('r', body)).verdict, 'exact')
  })

  test('a duration is over as soon as the ledger says so, also where its clock is an hour ahead of this process (RUN-200)', async () => {
    await using home = await open()
    home.clock.nowMs += 3_600_000
    const began = home.clock.nowMs
    const notices: unknown[] = []
    const onWaiting = (notice: unknown): void => {
      notices.push(notice)
      home.clock.nowMs = began + 30
    }
    const slept = home.process(undefined, { onWaiting }).run(ORDER, async (run) => run.sleep(30))
    // Far below the minute after which a sleep is asked about in any case.
    await within(slept, 'the sleep', 20_000)
    assert.is(notices.length, 1)
  })

  test('a payload has to fit the schema of the wait: its sender is refused, the wait goes on; what was held and does not fit is passed over (RUN-68)', async () => {
    await using home = await open()
    const cs = home.process()
    const schema = { type: 'object', required: ['ok'], properties: { ok: { type: 'boolean' } } }
    await home.connection.execute('', { kind: 'start', body: { id: 'r', name: 'order' } })
    await cs.signal('r', 'answer', 'early and wrong')
    const life = () => cs.run(LEAVE, (run) => run.waitFor('answer', { schema }))
    assert.is(codeOf(await rejection(life())), 'run-waiting')
    const refused = await rejection(cs.signal('r', 'answer', { ok: 'maybe' }))
    assert.is(codeOf(refused), 'signal-invalid')
    assert.is((await cs.signal('r', 'answer', { ok: true })).status, 'delivered')
    assert.equal(await life(), { ok: true })
    const events: string[] = []
    for await (const { type } of home.connection.events('r')) events.push(type)
    assert.equal(
      events.filter((type) => !type.startsWith('Run')),
      ['SignalReceived', 'WaitStarted', 'SignalPassedOver', 'RequestRefused', 'SignalReceived'],
    )
  })

  test('a run whose policy refuses them holds no signal that nobody waits for (RUN-67)', async () => {
    await using home = await open()
    const cs = home.process()
    const options = { ...LEAVE, policy: { signals: 'refuse' } } as const
    const life = () => cs.run(options, (run) => run.waitFor('go'))
    assert.is(codeOf(await rejection(life())), 'run-waiting')
    const refused = await rejection(cs.signal('r', 'come', 1))
    assert.is(codeOf(refused), 'signal-not-awaited')
    await cs.signal('r', 'go', 1)
    assert.is(codeOf(await rejection(cs.signal('r', 'go', 2))), 'signal-not-awaited')
    assert.is(await life(), 1)
    assert.is(codeOf(await rejection(cs.signal('r', 'go', 3))), 'run-ended')
  })

  test('a signal that is sent again under its id is the one of before (RUN-67)', async () => {
    await using home = await open()
    const cs = home.process()
    await home.connection.execute('', { kind: 'start', body: { id: 'r', name: 'order' } })
    const first = await cs.signal('r', 'n', 1, { requestId: 'a' })
    assert.equal(await cs.signal('r', 'n', 1, { requestId: 'a' }), first)
    assert.is(codeOf(await rejection(cs.signal('r', 'n', 2, { requestId: 'a' }))), 'idempotency-key-reused')
    assert.is(codeOf(await rejection(cs.signal('r', 'm', 1, { requestId: 'a' }))), 'idempotency-key-reused')
    const life = () => cs.run(LEAVE, async (run) => [await run.waitFor('n'), await run.waitFor('n')])
    assert.is(codeOf(await rejection(life())), 'run-waiting')
    await cs.signal('r', 'n', 2)
    assert.equal(await life(), [1, 2])
  })

  test('wherever a program that waits dies, it goes on to the same end, and each signal is taken once (A196)', async () => {
    for (let kill = 1; kill <= 14; kill += 1) {
      await using home = await open()
      const effects: Json[] = []
      const life = (cs: Countersign) => {
        const note = cs.tool((what: Json) => effects.push(what), { name: 'note', onUnknown: 'retry', key: String })
        return cs.run(LEAVE, async (run) => {
          await note('begun')
          const first = await run.waitFor<string>('n')
          await note(first)
          await run.sleep(5)
          const second = await run.waitFor<string>('n')
          return `${first} ${second}`
        })
      }
      await home.connection.execute('', { kind: 'start', body: { id: 'r', name: 'order' } })
      await home.process().signal('r', 'n', 'one')
      await home.process().signal('r', 'n', 'two')
      const { change, dead } = killedAfter(kill, kill % 2 === 0)
      const lived = life(home.process(change)).catch((error: unknown) => error)
      await Promise.race([dead, lived])
      let came: unknown
      for (let lives = 0; came === undefined && lives < 4; lives += 1) {
        home.clock.nowMs += 15 * 60_000
        came = await life(home.process()).catch((error: unknown) => {
          if (!(error instanceof RunWaiting)) throw error
        })
      }
      assert.is(came, 'one two', `killed after ${kill}`)
    }
  })

  test('code that asks for another signal than the record holds is refused, and nothing runs (RUN-69)', async () => {
    await using home = await open()
    const cs = home.process()
    assert.is(codeOf(await rejection(cs.run(LEAVE, (run) => run.waitFor('a')))), 'run-waiting')
    assert.is(codeOf(await rejection(cs.run(LEAVE, (run) => run.waitFor('b')))), 'resume-diverged')
    assert.is(codeOf(await rejection(cs.run(LEAVE, async () => 'none'))), 'resume-diverged')
  })

  test('a run within a run waits, and the run around it stays open with it (RUN-57, RUN-66)', async () => {
    await using home = await open()
    const life = (cs: Countersign) =>
      cs.run(LEAVE, () => cs.run({ id: 'inner', name: 'inner' }, async (run) => run.waitFor('go')))
    assert.is(codeOf(await rejection(life(home.process()))), 'run-waiting')
    await home.process().signal('inner', 'go', 7)
    assert.is(await life(home.process()), 7)
  })

  test('what makes no wait is said before anything is requested (A197)', async () => {
    await using home = await open()
    const cs = home.process()
    const bad: ((run: Run) => Promise<unknown>)[] = [
      (run) => run.waitFor(''),
      (run) => run.waitFor('x'.repeat(257)),
      (run) => run.waitFor('n', { until: new Date('never') }),
      (run) => run.waitFor('n', { until: -1 }),
      (run) => run.sleep(Number.NaN),
      (run) => run.sleep(undefined as unknown as number),
      (run) => run.waitFor('n', { schema: { check: () => true } }),
    ]
    for (const ask of bad) assert.is(codeOf(await rejection(cs.run(async (run) => ask(run as Run)))), 'invalid-wait')
    const odd = await rejection(cs.run(async (run) => run.waitFor('n', { schema: { type: 'nothing' } })))
    assert.is(codeOf(odd), 'schema-invalid')
  })

  test.run()
}
