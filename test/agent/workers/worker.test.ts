/** Workers in process and over HTTP: what is started, granted, signalled or due is carried on; what the code cannot carry on stops nobody. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Run } from '../../../src/agent/runtime/run.ts'
import { outcomeOf } from '../../../src/agent/saga/outcome.ts'
import type { Worker, WorkerOptions } from '../../../src/agent/workers/worker.ts'
import type { DueQuery } from '../../../src/client/client.ts'
import { eventually, within } from '../../support/within.ts'
import { type Listed, place, QUICK } from './place.ts'

for (const kind of ['in process', 'over HTTP'] as const) {
  const test = suite(`workers ${kind}`)

  test('a started run is recorded once, carried by a worker, and its end is waited for anywhere (RUN-220, RUN-221)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    const options = { id: 'order-1', tags: ['shop'] }
    const { runId, status } = await cs.start('order', { cents: 5 }, options)
    assert.is(status, 'open')
    assert.is((await cs.start('order', { cents: 5 }, options)).runId, runId)
    assert.equal(await at.typesOf(runId), ['RunStarted'])
    const refused = await cs.start('order', { cents: 6 }, options).catch((error) => error)
    assert.is(refused.code, 'run-exists')
    const hands = at.process()
    const pay = hands.tool(async (cents: number) => `paid ${cents}`, { name: 'pay', compensate: 'not-needed' })
    const order = async (run: Run<{ cents: number }>) => pay(run.input.cents)
    const fail = () => Promise.reject(new Error('no stock'))
    await using worker = hands.worker({ ...QUICK, runs: { order, fail } })
    assert.is(await within(cs.result(runId), 'the result'), 'paid 5')
    const failed = await cs.start('fail')
    const error = await within(cs.result(failed.runId), 'the failure').catch((thrown) => thrown)
    assert.is(error.code, 'run-rolled-back')
    assert.is(outcomeOf(error)?.status, 'COMPENSATED')
    await within(worker.stop(), 'the end of the worker')
    assert.equal(worker.active, [])
  })

  test('more callers wait for results than the tenant has slots: the worker carries all of their runs (RUN-221, HTTP-90)', async () => {
    await using at = await place(kind, 4)
    const cs = at.process()
    const ids = Array.from({ length: 9 }, (_, i) => `r${i}`)
    for (const id of ids) await cs.start('order', id, { id })
    const results = ids.map((id) => cs.result(id))
    await using _ = at.process().worker({ ...QUICK, runs: { order: async (run) => run.input } })
    assert.equal(await within(Promise.all(results), 'all results'), ids)
    for (const id of [undefined, '', ['r0']]) {
      const error = await cs.result(id as never).catch((thrown) => thrown)
      assert.is(error.code, 'invalid-option')
    }
  })

  test('a run of silent code is not taken over, and its hold is renewed on record (RUN-224)', async () => {
    await using at = await place(kind)
    const lives: string[] = []
    const runs = {
      order: async () => {
        lives.push('began')
        await eventually(async () => ((await at.typesOf('r')).includes('RunCarried') ? true : undefined), 'a renewal')
        return 'done'
      },
    }
    await using _one = at.process().worker({ ...QUICK, runs })
    await using _two = at.process().worker({ ...QUICK, runs })
    const cs = at.process()
    await cs.start('order', null, { id: 'r' })
    assert.is(await within(cs.result('r'), 'the result'), 'done')
    assert.equal(lives, ['began'])
    const types = await at.typesOf('r')
    assert.is(types.filter((type) => type === 'RunResumed').length, 1)
  })

  test('an idle worker appends nothing, and asks once for as long as it may wait (RUN-228)', async () => {
    await using at = await place(kind)
    const asked: string[] = []
    await using _ = at.process((what) => asked.push(what)).worker({ ...QUICK, runs: { order: async () => 1 } })
    await eventually(() => (asked.length > 0 ? true : undefined), 'the first request')
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.is(asked.length, 1, String(asked))
    assert.equal(await at.events(), [])
  })

  test('a run that is listed although it has ended is not asked for again and again (RUN-226)', async () => {
    await using at = await place(kind)
    await at.process().run({ id: 'r', name: 'order' }, async () => 1)
    const before = await at.typesOf('r')
    let asked = 0
    const heard = (): void => {
      asked += 1
    }
    const cs = at.process(heard, async () => ({ items: [{ runId: 'r', name: 'order', fence: 1 }] }))
    await using worker = cs.worker({ ...QUICK, runs: { order: async () => assert.unreachable('it has ended') } })
    await eventually(() => (asked > 1 ? true : undefined), 'a second request')
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.ok(asked < 10, `${asked} requests`)
    await within(worker.stop(), 'the end of the worker')
    assert.equal(await at.typesOf('r'), before)
  })

  test('runs that cannot be taken hide no other, however many they are (RUN-240)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    await cs.start('order', null, { id: 'z' })
    const ghosts = Array.from({ length: 35 }, (_, n) => ({ runId: `ghost-${n}`, name: 'order', fence: 1 }))
    // Pages are shorter than what a worker passes over, as those of a ledger are at some number.
    const listed: Listed = async ({ cursor = '0', ...query }, ledger) => {
      const from = Number(cursor)
      if (from >= ghosts.length) return ledger(query, { waitSeconds: 0, signal: new AbortController().signal })
      return { items: ghosts.slice(from, from + 10), nextCursor: String(from + 10) }
    }
    await using _ = at.process(undefined, listed).worker({ ...QUICK, runs: { order: async () => 'done' } })
    assert.is(await within(cs.result('z'), 'the run behind them'), 'done')
  })

  test('a worker leaves a wait only once every signal that is held for it was checked (RUN-241)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    await cs.start('order', null, { id: 'r' })
    for (let n = 0; n < 40; n += 1) await cs.signal('r', 'address', n < 39 ? n : 'Main street')
    const order = async (run: Run) => run.waitFor<string>('address', { schema: { type: 'string' } })
    await using _ = at.process().worker({ ...QUICK, runs: { order } })
    assert.is(await within(cs.result('r'), 'the signal that fits'), 'Main street')
  })

  test('a program that throws in onError stops no worker, and a stopped one takes nothing (RUN-229)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    const stop = new AbortController()
    await using worker = at.process().worker({
      ...{ ...QUICK, signal: stop.signal, runs: { order: async () => Promise.reject(new Error('no')) } },
      onError: () => {
        throw new Error('the program of the notice')
      },
    })
    await cs.start('order', null, { id: 'r1' })
    await within(cs.result('r1'), 'the end').catch(() => undefined)
    stop.abort()
    await within(worker.done, 'the end of the worker')
    await cs.start('order', null, { id: 'r2' })
    assert.equal(await at.typesOf('r2'), ['RunStarted'])
  })

  test('approvals, signals, times and nested runs: each effect once, by whichever worker (RUN-222, RUN-223)', async () => {
    await using at = await place(kind)
    const effects: string[] = []
    const workers = [1, 2].map(() => {
      const cs = at.process()
      const pay = cs.tool(async (id: string) => effects.push(id), {
        ...{ name: 'pay', approve: true, compensate: 'not-needed' },
      })
      const ship = cs.tool(async (to: string) => effects.push(to), { name: 'ship', compensate: 'not-needed' })
      const order = async (run: Run<string>) => {
        await run.sleep(20)
        await cs.run({ name: 'payment' }, async () => pay(run.input))
        const to = await run.waitFor<string>('address')
        await ship(to)
        return to
      }
      return cs.worker({ ...QUICK, runs: { order }, concurrency: 2 })
    })
    await using _ = { [Symbol.asyncDispose]: async () => void (await Promise.all(workers.map((each) => each.stop()))) }
    const cs = at.process()
    const ids = ['a', 'b', 'c', 'd', 'e']
    for (const id of ids) await cs.start('order', id, { id })
    const signalled = new Set<string>()
    await eventually(async () => {
      for await (const approval of at.bob.approvals.list()) await at.bob.approvals.grant(approval)
      for (const id of ids.filter((id) => effects.includes(id) && !signalled.has(id))) {
        await cs.signal(id, 'address', `street ${id}`)
        signalled.add(id)
      }
      return signalled.size === ids.length ? true : undefined
    }, 'every payment')
    for (const id of ids) assert.is(await within(cs.result(id), id), `street ${id}`)
    assert.equal(effects.toSorted(), ids.flatMap((id) => [id, `street ${id}`]).toSorted())
    await Promise.all(workers.map((worker) => within(worker.stop(), 'the end of a worker')))
    for (const id of ids) assert.is((await at.typesOf(id)).filter((type) => type === 'RunCompleted').length, 1)
  })

  test('a run of other code is stuck on record, tried again later, and stops nobody (RUN-226)', async () => {
    await using at = await place(kind)
    const before = at.process()
    const first = before.tool(async () => 1, { name: 'first', compensate: 'not-needed' })
    await using old = before.worker({
      ...QUICK,
      runs: { order: async (run: Run) => [await first(), await run.waitFor('go')] },
    })
    await before.start('order', null, { id: 'old' })
    await eventually(async () => ((await at.typesOf('old')).includes('RunLeft') ? true : undefined), 'the wait')
    await within(old.stop(), 'the old worker')
    await before.signal('old', 'go')

    const after = at.process()
    const second = after.tool(async () => 2, { name: 'second', compensate: 'not-needed' })
    await using worker = after.worker({ ...QUICK, retryMs: 100, runs: { order: async () => second() }, concurrency: 1 })
    const { runId } = await after.start('order', null, { id: 'new' })
    assert.is(await within(after.result(runId), 'the new run'), 2)
    const stuck = await eventually(async () => {
      for await (const row of after.runs({ name: 'order', status: 'open' })) {
        const { stuck } = row as unknown as { stuck?: { attempts: number; code: string; since: string; until: string } }
        if (stuck !== undefined && stuck.attempts >= 2) return stuck
      }
      return undefined
    }, 'a second attempt')
    assert.is(stuck.code, 'resume-diverged')
    assert.ok(stuck.since < stuck.until)
    await within(worker.stop(), 'the end of the worker')
    assert.not.ok((await at.typesOf('old')).includes('CompensationStarted'))
  })

  test('a run that waits for its own divergence keeps no place from others, however long that is (RUN-277)', async () => {
    await using at = await place(kind)
    const before = at.process()
    await using old = before.worker({
      ...QUICK,
      runs: { order: async (run: Run) => [await run.sleep(1), await run.waitFor('go')] },
    })
    const ids = ['old-1', 'old-2']
    for (const id of ids) await before.start('order', null, { id })
    for (const id of ids)
      await eventually(async () => ((await at.typesOf(id)).includes('RunLeft') ? true : undefined), `the wait of ${id}`)
    await within(old.stop(), 'the old worker')
    for (const id of ids) await before.signal(id, 'go')

    const after = at.process(undefined, undefined, 10_000)
    await using worker: Worker = after.worker({
      ...QUICK,
      concurrency: 1,
      runs: { order: async (run: Run) => (ids.includes(run.id) ? run.waitFor('other') : worker.active.length) },
    })
    await after.start('order', null, { id: 'new' })
    const carried = (await within(after.result('new'), 'the new run')) as number
    assert.ok(carried > 1, 'the new run was carried beside one that waited')
  })

  test('a run whose input was left out of the record is stuck, and its code is given no marker (RUN-222)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    const inputs: unknown[] = []
    await using _ = at
      .process()
      .worker({ ...QUICK, retryMs: 60_000, runs: { order: async (run: Run) => inputs.push(run.input) } })
    const policy = { redaction: [{ name: 'card', at: ['/input/card'] }] }
    await cs.start('order', { card: '4111' }, { id: 'r', policy })
    const stuck = await eventually(async () => {
      for await (const { stuck } of cs.runs({ name: 'order' }))
        if (stuck !== undefined) return stuck as { code: string }
      return undefined
    }, 'the run')
    assert.is(stuck.code, 'result-redacted')
    assert.equal(inputs, [])
  })

  test('an option that does not fit is an error where the worker or the run is made (RUN-163)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    const order = async () => 1
    const faults: readonly object[] = [
      {},
      { runs: {} },
      { runs: { order }, concurrency: 0 },
      { runs: { order }, perTenant: 0 },
      { runs: { order }, holdMs: 999 },
      { runs: { order }, version: 'a b' },
      { runs: { order }, version: '1', takes: [''] },
      { runs: { order }, takes: 'all' },
      { runs: { order }, version: '1', takes: Array.from({ length: 64 }, (_, n) => `0.${n}`) },
      { runs: { ['x'.repeat(9_000)]: order } },
      { runs: { ['x'.repeat(300)]: order } },
      { runs: { '': order } },
      { runs: { order, refund: undefined } },
      { runs: { order: 1 } },
      { runs: [order] },
      { runs: { order }, hold: 1 },
      { runs: { order }, takes: [1] },
      // Accepted, they were refused at each question for work, for ever: their URL was too long.
      { runs: Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`${'処理'.repeat(14)}${i}`, order])) },
    ]
    for (const options of faults) {
      try {
        await cs.worker(options as never).stop()
        assert.unreachable(JSON.stringify(options))
      } catch (error) {
        assert.is((error as { code?: string }).code, 'invalid-option', JSON.stringify(options))
      }
    }
    const starts = [
      ['', {}],
      ['order', { after: Number.NaN }],
      ['order', { after: '5' }],
      ['order', { after: null }],
      ['order', null],
      ['order', { tag: 'x' }],
    ] as const
    for (const [name, options] of starts) {
      const error = await cs.start(name, null, options as never).catch((thrown) => thrown)
      assert.is(error.code, 'invalid-option', JSON.stringify(options))
    }
    await cs.start('order', null, { id: 'o' })
    for (const name of [undefined, '', 'x'.repeat(300)] as string[]) {
      const error = await cs.signal('o', name).catch((thrown) => thrown)
      assert.is(error.code, 'invalid-option', `${name}`)
    }
  })

  test('the code of a run starts another only by an id; a tool may start one without (RUN-276)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    const starts = cs.tool(async () => (await cs.start('mail')).status, { name: 'starts', compensate: 'not-needed' })
    const started = await cs.run({ id: 'r' }, async (run) => {
      const refused = await cs.start('mail').catch((error) => error.code)
      return [refused, await starts(), (await cs.start('mail', null, { id: `${run.id}-mail` })).status]
    })
    assert.equal(started, ['invalid-option', 'open', 'open'])
  })

  test('a run remembers the version of its first worker; others leave it, unless they name it (RUN-225)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    const work = (version: string, takes?: readonly string[]) =>
      at.process().worker({
        ...{ ...QUICK, version, ...(takes && { takes }) },
        runs: { order: async (run: Run) => `${await run.waitFor<string>('go')} by ${version}` },
      })
    await using _ = work('2')
    await using one = work('1')
    await cs.start('order', null, { id: 'r1', after: 60_000 })
    await within(one.stop(), 'version 1')
    await cs.start('order', null, { id: 'r2' })
    await eventually(async () => ((await at.typesOf('r2')).includes('RunLeft') ? true : undefined), 'version 2')
    assert.not.ok((await at.typesOf('r1')).includes('RunResumed'))
    await using three = work('3')
    await cs.signal('r2', 'go', 'gone')
    assert.is(await within(cs.result('r2'), 'the run'), 'gone by 2')
    assert.equal(three.active, [])
  })

  test('workers with a limit of the tenant carry no more at the same time, and all runs in the end (RUN-244)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    let [now, most] = [0, 0]
    const two = Promise.withResolvers<void>()
    const order = async (run: Run<number>) => {
      now += 1
      most = Math.max(most, now)
      if (now === 2) two.resolve()
      await two.promise
      await new Promise((resolve) => setTimeout(resolve, 5))
      now -= 1
      return run.input
    }
    const ids = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const [n, id] of ids.entries()) await cs.start('order', n, { id })
    const runs = { order }
    await using _one = at.process().worker({ ...QUICK, runs, perTenant: 2 })
    await using _two = at.process().worker({ ...QUICK, runs, perTenant: 2 })
    for (const [n, id] of ids.entries()) assert.is(await within(cs.result(id), id), n)
    assert.is(most, 2)
  })

  test('a worker without a version leaves the runs of a version alone, unless it takes any (RUN-225)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    const asked: DueQuery[] = []
    const listed: Listed = async (query, ledger) => {
      asked.push(query)
      return ledger(query, { waitSeconds: 1, signal: AbortSignal.timeout(1_000) })
    }
    const work = (how: Partial<WorkerOptions>, connected = at.process()) =>
      connected.worker({ ...QUICK, ...how, runs: { order: async (run: Run) => run.waitFor<string>('go') } })
    await using one = work({ version: '1' })
    await cs.start('order', null, { id: 'r' })
    await eventually(async () => ((await at.typesOf('r')).includes('RunLeft') ? true : undefined), 'version 1')
    await within(one.stop(), 'version 1')
    await cs.signal('r', 'go', 'gone')
    await using none = work({}, at.process(undefined, listed))
    await eventually(() => (asked.length > 1 ? true : undefined), 'a request that was answered')
    assert.equal(asked[0]?.versions, [])
    assert.equal(none.active, [])
    assert.is((await at.typesOf('r')).filter((type) => type === 'RunResumed').length, 1)
    await using _ = work({ takes: 'any' })
    assert.is(await within(cs.result('r'), 'the run'), 'gone')
  })

  test('the result of a run is refused inside of it, of a tool of it and of a run within it, and given elsewhere (RUN-293)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    const asked: unknown[] = []
    const ask = async (): Promise<unknown> => {
      const signal = AbortSignal.timeout(5_000)
      return asked.push(await cs.result('r', { signal }).catch((error) => error.code))
    }
    const tool = cs.tool(ask, { name: 'ask', compensate: 'not-needed' })
    const order = async (run: Run) => {
      if (run.id !== 'r') return cs.result('r')
      await ask()
      await tool()
      await cs.run({ name: 'inner' }, ask)
      return 'done'
    }
    await using _ = cs.worker({ ...QUICK, runs: { order }, concurrency: 2 })
    for (const id of ['other', 'r']) await cs.start('order', null, { id })
    assert.is(await within(cs.result('other'), 'the run that waits for it'), 'done')
    assert.equal(asked, ['recursive-call', 'recursive-call', 'recursive-call'])
  })

  test.run()
}
