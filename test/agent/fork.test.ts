import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ForkFailed, type ForkOptions } from '../../src/agent/fork/fork-types.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, NO_WAIT, rejection } from './homes.ts'

const FROZEN = { facts: ['one'], title: 'draft' }

/** Ends when it is told to, and says so where it is aborted. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

for (const { name, open } of HOMES) {
  const fork = suite(`fork and join ${name}`)

  /** A run that has established `FROZEN`, with tools that log what they do. */
  const scene = (cs: Countersign) => {
    const log: string[] = []
    const book = cs.tool((what: string) => `booked ${what} ${log.push(`book ${what}`)}`, {
      name: 'book',
      compensate: ({ args: [what] }) => void log.push(`cancel ${what}`),
    })
    const run = <T>(body: (run: Run<null>) => T, id = 'r') =>
      cs.run({ id, policy: { ungrounded: 'off', protect: [] } }, async (run) => {
        const handed = await run.handoff(FROZEN, { agent: 'ann' })
        assert.ok(handed.ok)
        return body(run)
      })
    return { log, book, run }
  }
  const types = async (connection: { events(run: string): AsyncIterable<{ type: string }> }) => {
    const all: string[] = []
    for await (const { type } of connection.events('r')) all.push(type)
    return all
  }

  fork('a union: every branch sees the frozen context, and what each added is established (RUN-38)', async () => {
    await using home = await open()
    const { run } = scene(home.process())
    const seen: unknown[] = []
    const result = await run(async (r) => {
      const joined = await r.fork(
        [
          {
            agent: 'a',
            run: (context) => {
              seen.push(structuredClone(context))
              Object.assign(context, { title: 'spoilt' })
              return { facts: ['two'] }
            },
          },
          {
            agent: 'b',
            run: (context) => {
              seen.push(context)
              return { n: 1 }
            },
          },
          { agent: 'c', run: () => 'a text' },
        ],
        { join: 'union' },
      )
      assert.equal(await r.context(), joined.established)
      return { ...joined, unwound: await joined.unwound }
    })
    assert.equal(seen, [FROZEN, FROZEN])
    assert.equal(result.winners, ['a', 'b', 'c'])
    assert.equal(result.output, { facts: ['one', 'two'], title: 'draft', n: 1, text: 'a text' })
    assert.equal(
      result.receipts.map(({ status }) => status),
      ['merged', 'merged', 'merged'],
    )
    assert.equal(result.unwound, [])
  })

  fork('a vote: the best is merged, the others are rolled back before the run goes on (RUN-41)', async () => {
    await using home = await open()
    const { run, book, log } = scene(home.process())
    const branch = (agent: string, points: number) => ({
      agent,
      run: async () => ({ by: agent, points, seat: await book(agent) }),
    })
    const result = await run(async (r) => {
      const joined = await r.fork([branch('a', 1), branch('b', 3), branch('c', 2)], {
        join: 'vote',
        score: ({ points }) => Number(points),
      })
      log.push('joined')
      return { ...joined, unwound: await joined.unwound }
    })
    assert.equal([result.winners, result.order], [['b'], ['b', 'c', 'a']])
    assert.is(result.output.by, 'b')
    assert.equal(log.slice(0, 3), ['book a', 'book b', 'book c'])
    assert.equal([...log.slice(3, 5)].sort(), ['cancel a', 'cancel c'])
    assert.is(log.at(-1), 'joined')
    assert.equal(
      result.unwound.map(({ branch, status }) => [branch, status]),
      [
        ['a', 'COMPENSATED'],
        ['c', 'COMPENSATED'],
      ],
    )
  })

  fork(
    'the first valid result wins at once; the others are aborted, end, and are undone before the run ends',
    async () => {
      await using home = await open()
      const { run, book, log } = scene(home.process())
      const late = gate()
      const started = gate()
      const slow = home.process().tool
      assert.ok(slow)
      const result = await run(async (r) => {
        const joined = await r.fork(
          [
            { agent: 'bad', run: () => ({ facts: 'contradicted' }) },
            { agent: 'fast', run: () => started.opened.then(() => ({ by: 'fast' })) },
            {
              agent: 'slow',
              run: async (_, { signal }) => {
                const seat = await book('slow')
                started.open()
                await late.opened
                log.push(`aborted ${signal.aborted}`)
                await book('too late').catch((error: Error) => log.push(error.name))
                return { seat }
              },
            },
          ],
          { join: 'first_wins' },
        )
        log.push('joined')
        late.open()
        return joined
      })
      assert.equal(result.winners, ['fast'])
      assert.equal(
        result.receipts.map(({ branch, status }) => `${branch} ${status}`),
        ['bad refused', 'fast merged', 'slow aborted'],
      )
      assert.equal(log, ['book slow', 'joined', 'aborted true', 'AbortError', 'cancel slow'])
      assert.equal((await types(home.connection)).at(-1), 'RunCompleted')
    },
  )

  fork('a tool in flight in a branch that lost is aborted by its signal, ends, and what it did is undone', async () => {
    await using home = await open()
    const cs = home.process()
    const { run, log } = scene(cs)
    const begun = gate()
    const wait = cs.tool({
      name: 'wait',
      execute: (_: null, { signal }: { signal: AbortSignal }) => {
        begun.open()
        return new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('done all the same')))
      },
      compensate: ({ result }) => void log.push(`undo ${result}`),
    })
    const cut = cs.tool({
      name: 'cut',
      execute: (_: null, { signal }: { signal: AbortSignal }) =>
        new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    await run(async (r) => {
      const joined = await r.fork(
        [
          { agent: 'w', run: async () => ({ a: await wait(null) }) },
          { agent: 'c', run: async () => ({ a: await cut(null) }) },
          { agent: 'fast', run: () => begun.opened.then(() => ({ by: 'fast' })) },
        ],
        { join: 'first_wins' },
      )
      assert.equal(
        (await joined.unwound).map(({ branch, status }) => [branch, status]),
        [
          ['w', 'COMPENSATED'],
          ['c', 'COMPENSATED'],
        ],
      )
    })
    assert.equal(log, ['undo done all the same'])
    const calls = await home.connection.calls('r')
    const statuses = calls.filter(({ phase }) => phase === 'forward').map(({ tool, status }) => `${tool} ${status}`)
    assert.equal(statuses.sort(), ['cut failed', 'wait compensated'])
  })

  fork('cut off in the middle, a tool that something undoes is in doubt, and the run does not complete', async () => {
    await using home = await open()
    const cs = home.process()
    const { run } = scene(cs)
    const begun = gate()
    const charge = cs.tool({
      name: 'charge',
      execute: (_: null, { signal }: { signal: AbortSignal }) => {
        begun.open()
        return new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
      compensate: () => assert.unreachable('nobody knows whether there is anything to undo'),
    })
    const error = await rejection(
      run((r) =>
        r.fork(
          [
            { agent: 'c', run: async () => ({ a: await charge(null) }) },
            { agent: 'fast', run: () => begun.opened.then(() => ({ by: 'fast' })) },
          ],
          { join: 'first_wins' },
        ),
      ),
    )
    assert.is(codeOf(error), 'open-work')
  })

  fork('what died with a losing branch is checked, or abandoned where a repeat is harmless: the run ends', async () => {
    await using home = await open()
    const reached = gate()
    const body = (cs: Countersign, hangs: boolean) => {
      const stuck = async (_: null): Promise<string> => {
        if (hangs) await new Promise(() => reached.open())
        return 'done'
      }
      const look = cs.tool({ name: 'look', onUnknown: 'retry', execute: stuck })
      const check = () => ({ done: true, result: 'paid' }) as const
      const undone: unknown[] = []
      const pay = cs.tool({
        name: 'pay',
        execute: stuck,
        check,
        compensate: ({ result }) => void undone.push(result),
      })
      return async (r: Run<null>) => {
        const { winners, unwound } = await r.fork(
          [
            { agent: 'look', run: async () => ({ a: await look(null) }) },
            { agent: 'pay', run: async () => ({ a: await pay(null) }) },
            { agent: 'fast', run: () => reached.opened.then(() => ({ by: 'fast' })) },
          ],
          { join: 'first_wins' },
        )
        return { winners, unwound: (await unwound).map(({ branch, status }) => `${branch} ${status}`), undone }
      }
    }
    // Dead when the fast branch has reported: start, fork, the two claims in one batch, report.
    const { change, dead } = killedAfter(4, true)
    const first = home.process(change)
    void first.run({ id: 'r' }, body(first, true))
    await dead
    home.clock.nowMs += LONG_MS
    const second = home.process()
    const output = await second.run({ id: 'r' }, body(second, false))
    assert.equal(output, { winners: ['fast'], unwound: ['look COMPENSATED', 'pay COMPENSATED'], undone: ['paid'] })
    const calls = (await home.connection.calls('r')).filter(({ phase }) => phase === 'forward')
    assert.equal(calls.map(({ tool, status }) => `${tool} ${status}`).sort(), ['look failed', 'pay compensated'])
  })

  fork('branches never share results, and what they call is theirs on record (RUN-40)', async () => {
    await using home = await open()
    const cs = home.process()
    const { run, log } = scene(cs)
    const look = cs.tool((what: string) => `${what} ${log.push(what)}`, { name: 'look' })
    const keyed = cs.tool((what: string) => `${what} ${log.push(what)}`, { name: 'keyed', key: () => 'one key' })
    const both = async () => ({ a: await look('x'), again: await look('x'), k: await keyed('y') })
    const branches = [
      { agent: 'a', run: both },
      { agent: 'a', run: both },
    ]
    await run((r) => r.fork(branches, { join: 'vote', onDiscard: 'keep' }))
    assert.equal([...log].sort(), ['x', 'x', 'y', 'y'])
    const scopes = (await home.connection.calls('r')).map(({ tool, scope, agent }) => `${tool} ${scope} ${agent}`)
    assert.equal([...scopes].sort(), ['keyed fork:a a', 'keyed fork:a-2 a', 'look fork:a a', 'look fork:a-2 a'])
  })

  fork(
    'a branch that throws, is refused or breaks its budget is a failed branch; all failed: an error, and nothing changed',
    async () => {
      await using home = await open()
      const cs = home.process()
      const { book, log } = scene(cs)
      const spend = cs.tool((n: number) => n, { name: 'spend' })
      assert.ok(spend)
      const error = await rejection(
        cs.run({ id: 'r', policy: { ungrounded: 'off', protect: [] } }, async (r) => {
          await r.handoff(FROZEN, { agent: 'ann' })
          const failed = await rejection(
            r.fork(
              [
                {
                  agent: 'a',
                  run: async () => {
                    await book('a')
                    throw new Error('no seat')
                  },
                },
                { agent: 'b', manifest: { writes: ['title'] }, run: () => ({ other: 1 }) },
                { agent: 'c', run: () => 7 },
                { agent: 'd', run: (_, { run }) => run.handoff({}, { agent: 'd' }) },
              ],
              { join: 'first_wins' },
            ),
          )
          assert.instance(failed, ForkFailed)
          assert.is(codeOf(failed), 'fork-failed')
          assert.equal(
            (failed as ForkFailed).receipts.map(({ status, error }) => [status, error?.code]),
            [
              ['failed', undefined],
              ['refused', 'contradiction'],
              ['failed', 'not-recordable'],
              ['failed', 'handoff-in-step'],
            ],
          )
          assert.equal((await r.context()).context, FROZEN)
          assert.equal(log, ['book a', 'cancel a'], 'what a failed branch did is undone when the fork has failed')
          throw failed
        }),
      )
      assert.is(outcomeOf(error)?.status, 'COMPENSATED')
    },
  )

  fork('a conflict names the place and both branches', async () => {
    await using home = await open()
    const { run } = scene(home.process())
    const branches = [
      { agent: 'a', run: () => ({ title: 'mine' }) },
      { agent: 'b', run: () => ({ title: 'yours' }) },
    ]
    let error: unknown
    await run(async (r) => {
      error = await rejection(r.fork(branches, { join: 'union' }))
    })
    const { code, message } = error as unknown as ForkFailed
    assert.equal(
      [code, message],
      ['fork-conflict', 'branches made different things of /title (a, b): the context is unchanged'],
    )
  })

  fork('a manifest limits what its branch is shown and may change', async () => {
    await using home = await open()
    const { run } = scene(home.process())
    const result = await run((r) =>
      r.fork(
        [
          {
            agent: 'a',
            manifest: { reads: ['title'], writes: ['title'] },
            run: (context) => ({ title: `${Object.keys(context)}!` }),
          },
        ],
        { join: 'vote' },
      ),
    )
    assert.equal(result.output, { title: 'title!' })
  })

  fork('what a branch hands over is counted and charged, and its manifest limits it', async () => {
    await using home = await open()
    const cs = home.process()
    await cs.run({ id: 'r', policy: { ungrounded: 'off', protect: [] }, budget: { tokens: 100_000 } }, async (r) => {
      const text = 'many words, '.repeat(50)
      const { receipts } = await r.fork(
        [
          { agent: 'long', manifest: { maxTokens: 10 }, run: () => text },
          { agent: 'short', manifest: { maxTokens: 10 }, run: () => 'few words' },
        ],
        { join: 'vote' },
      )
      assert.equal(
        receipts.map(({ status }) => status),
        ['refused', 'merged'],
      )
    })
    const spent: unknown[] = []
    for await (const { data } of home.connection.events('r', 'BranchOffered')) spent.push(data.tokens)
    assert.equal(spent, [2])
  })

  fork('bad forks are refused before anything runs', async () => {
    await using home = await open()
    const { run } = scene(home.process())
    const never = { agent: 'a', run: () => assert.unreachable('nothing runs') }
    await run(async (r) => {
      assert.is(codeOf(await rejection(r.fork([], { join: 'vote' }))), 'invalid-fork')
      const twice = [
        { ...never, name: 'x' },
        { ...never, name: 'x' },
      ]
      assert.is(codeOf(await rejection(r.fork(twice, { join: 'vote' }))), 'invalid-fork')
      const wrong = { agent: 'a', manifest: { agent: 'z' }, run: never.run }
      assert.is(codeOf(await rejection(r.fork([wrong], { join: 'vote' }))), 'invalid-manifest')
    })
  })

  fork(
    'served on resume and replay: winner, order and receipts come from the record, and no branch runs again (RUN-42)',
    async () => {
      for (const options of [{ join: 'union' }, { join: 'vote' }, { join: 'first_wins' }] satisfies ForkOptions[]) {
        await using home = await open()
        const first = home.process()
        const { log, book, run } = scene(first)
        let crash = true
        const branches = ['a', 'b'].map((agent) => ({
          agent,
          run: async () => {
            log.push(`run ${agent}`)
            return { [agent]: await book(agent) }
          },
        }))
        const body = async (r: Run<null>) => {
          const { forkId, winners, order, receipts, receipt, output, established, unwound } = await r.fork(
            branches,
            options,
          )
          await unwound
          await r.once('after', () => 1)
          if (crash) throw new Error('stay open')
          return { forkId, winners, order, receipts, receipt, output, established }
        }
        const silent = home.process((connection) => ({
          ...connection,
          execute: (runId, command, more) =>
            command.kind === 'compensate' && command.body.scope === undefined
              ? Promise.reject(new Error('the process is gone'))
              : connection.execute(runId, command, more),
        }))
        const one = scene(silent)
        const firstLife = branches.map(({ agent }) => ({
          agent,
          run: async () => {
            one.log.push(`run ${agent}`)
            return { [agent]: await one.book(agent) }
          },
        }))
        let live: unknown
        await rejection(
          one.run(async (r) => {
            const joined = await r.fork(firstLife, options)
            await joined.unwound
            const { unwound: _, ...said } = joined
            live = said
            await r.once('after', () => 1)
            throw new Error('stay open')
          }),
        )
        crash = false
        const resumed = await run(body)
        assert.equal(resumed, live)
        assert.equal(log, [], `no branch runs again after a ${options.join}`)
        const replayed = await first.replay('r', async (r: Run<null>) => {
          await r.handoff(FROZEN, { agent: 'ann' })
          return body(r)
        })
        assert.equal(replayed.output, live)
        assert.equal(log, [])
      }
    },
  )

  fork('a fork that the code asks for in another way than the record holds is named, and nothing runs', async () => {
    await using home = await open()
    const { run } = scene(home.process())
    await run(async (r) => (await r.fork([{ agent: 'a', run: () => ({}) }], { join: 'vote' })).winners)
    const cs = home.process()
    const replay = (agent: string, join: 'vote' | 'union') =>
      rejection(
        cs.replay('r', async (r: Run<null>) => {
          await r.handoff(FROZEN, { agent: 'ann' })
          await r.fork([{ agent, run: () => assert.unreachable('nothing runs') }], { join })
        }),
      )
    assert.is(codeOf(await replay('a', 'union')), 'replay-diverged')
    assert.is(codeOf(await replay('b', 'vote')), 'replay-diverged')
    const none = await rejection(cs.replay('r', (r: Run<null>) => r.handoff(FROZEN, { agent: 'ann' })))
    assert.is(codeOf(none), 'replay-diverged')
  })

  fork('retries and sagas work in a branch as anywhere', async () => {
    await using home = await open()
    const cs = home.process()
    const { run } = scene(cs)
    let tries = 0
    cs.tool(
      () => {
        tries += 1
        if (tries < 3) throw new Error('not yet')
        return tries
      },
      { name: 'flaky', retries: 2, backoff: NO_WAIT },
    )
    const result = await run((r) =>
      r.fork(
        [{ agent: 'a', run: async (_, { run }) => ({ saga: (await run.saga([{ tool: 'flaky', args: [] }])).status }) }],
        { join: 'vote' },
      ),
    )
    assert.equal(result.output, { saga: 'SUCCESS' })
  })

  fork.run()
}
