import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { OutcomeOrder, type Turn } from '../../src/agent/runtime/outcome-order.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, rejection } from './homes.ts'

const order = suite('outcome order')

/** An order over a record that has requests at these places, none of them made. */
function over(unmade: number[], stuckMs: number): OutcomeOrder {
  return new OutcomeOrder(
    {
      unmadeBefore: (place) => (unmade.some((each) => each < place) ? 'a call' : undefined),
      isFree: () => false,
      isOver: () => false,
      isOutrun: () => false,
      isStopped: () => false,
      neverMade: (what) => new Error(`never requested: ${what}`),
      stuck: (fault) => fault,
      placeOf: ({ revision }) => Number(revision),
    },
    100,
    stuckMs,
  )
}

const from = (place: number) => async (turn: Turn) => {
  turn.recorded(place)
  return place
}

order('outcomes come in the order of the record, whatever the order of the requests (RUN-170)', async () => {
  const came: number[] = []
  const queue = over([], 10_000)
  await within(Promise.all([9, 3, 7].map(async (place) => came.push(await queue.inOrder(from(place))))))
  assert.equal(came, [3, 7, 9])
})

order('the code is idle before it is handed the next outcome (RUN-170)', async () => {
  const came: string[] = []
  const queue = over([], 10_000)
  const code = async (place: number): Promise<void> => {
    await queue.inOrder(from(place))
    for (let i = 0; i < 50; i += 1) await Promise.resolve()
    came.push(`done ${place}`)
  }
  await within(Promise.all([code(2), code(1)]))
  assert.equal(came, ['done 1', 'done 2'])
})

order('an outcome that its caller reads in parts ends a row of refusals, too (RUN-201)', async () => {
  const queue = over([], 10_000)
  let revision = 100
  const refused = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n += 1) await queue.inOrder(async (turn) => turn.refused(++revision))
  }
  await refused(999)
  await queue.inOrder(async (turn) => turn.answered({ revision: ++revision }), { isEarly: true })
  await refused(1_000)
  const error = await rejection(refused(1))
  assert.is(codeOf(error), 'refusals-exhausted')
})

order(
  'what the code knows is no less than what it was given, also where the ledger does not tell its place (RUN-214)',
  async () => {
    const queue = over([], 10_000)
    const given = async (tell: (turn: Turn) => void): Promise<number> => {
      await queue.inOrder(async (turn) => tell(turn))
      return queue.given
    }
    assert.is(queue.given, 0)
    assert.is(await given((turn) => turn.answered({ revision: 101 })), 101)
    // A wait that a held signal ended: its event is before that of its end.
    assert.is(await given((turn) => turn.answered({ revision: 105 }, 103)), 105)
    assert.is(await given((turn) => turn.repeated()), 105)
    assert.is(await given((turn) => turn.refused(undefined)), Number.MAX_SAFE_INTEGER)
    assert.is(await given((turn) => turn.answered({ revision: 110 })), 110)
    assert.is(await given((turn) => turn.untold()), Number.MAX_SAFE_INTEGER)
    const before = queue.inOrder(async (turn) => turn.answered({ revision: 112 }))
    assert.is(await given((turn) => turn.answered({})), Number.MAX_SAFE_INTEGER)
    await before
    assert.is(await given((turn) => turn.answered({ revision: 115 })), 115)
  },
)

order('an outcome waits for a request that the record has before it (RUN-171)', async () => {
  const unmade = [1]
  const queue = over(unmade, 10_000)
  let came = 0
  const outcome = queue.inOrder(from(5)).then((place) => {
    came = place
  })
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.is(came, 0)
  unmade.pop()
  queue.plan()
  await within(outcome)
  assert.is(came, 5)
})

order(
  'a request that the code never makes ends the wait with an error, and what is behind it does not hang (RUN-172)',
  async () => {
    const queue = over([1], 5)
    const [first, second] = await within(Promise.allSettled([queue.inOrder(from(5)), queue.inOrder(from(6))]))
    for (const each of [first, second])
      assert.is(each?.status === 'rejected' && String(each.reason), 'Error: never requested: a call')
  },
)

order(
  'an answer that is still on its way is waited for: it may tell of an outcome before this one (RUN-170)',
  async () => {
    const queue = over([], 10_000)
    let answer = (): void => undefined
    const late = new Promise<void>((resolve) => {
      answer = resolve
    })
    const ledger = queue.heard({ execute: () => late } as never)
    const came: number[] = []
    const first = queue.inOrder(async (turn) => {
      turn.live()
      await ledger.execute('r', { kind: 'settle' } as never)
      turn.answered({ revision: 101 })
      return 101
    })
    const second = queue.inOrder(async (turn) => {
      turn.answered({ revision: 102 })
      return 102
    })
    const all = Promise.all([first, second].map((each) => each.then((place) => came.push(place))))
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(came, [])
    answer()
    await within(all)
    assert.equal(came, [101, 102])
  },
)

order.run()

for (const { name, open } of HOMES) {
  const test = suite(`races ${name}`)

  test('the run ends after a call that lost a race, whose failure is not the run’s (RUN-173)', async () => {
    await using home = await open()
    const cs = home.process()
    let hasFailed = false
    const quick = cs.tool(() => 'quick', { name: 'quick' })
    const slow = cs.tool(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 30))
        hasFailed = true
        throw new Error('late')
      },
      { name: 'slow' },
    )
    assert.is(await cs.run({ id: 'r', name: 'race' }, () => Promise.race([slow(), quick()])), 'quick')
    assert.ok(hasFailed)
    const statuses = (await home.connection.calls('r')).map(({ tool, status }) => `${tool} ${status}`)
    assert.equal(statuses.toSorted(), ['quick succeeded', 'slow failed'])
    assert.is((await home.connection.run('r')).status, 'completed')
  })

  test('a call that races a sleep wins or loses the same on a replay (RUN-170)', async () => {
    await using home = await open()
    const ticking = setInterval(() => {
      home.clock.nowMs += 10
    }, 10)
    const program = (cs: Countersign, takesMs: number) => {
      const call = cs.tool(
        async () => {
          await new Promise((resolve) => setTimeout(resolve, takesMs))
          return 'called'
        },
        { name: 'call' },
      )
      return (run: Run<unknown>): Promise<string> => Promise.race([run.sleep(150).then(() => 'slept'), call()])
    }
    for (const [id, takesMs] of Object.entries({ called: 1, slept: 600 })) {
      const cs = home.process()
      assert.is(await cs.run({ id, name: 'race' }, program(cs, takesMs)), id)
      const again = home.process()
      assert.is((await again.replay(id, program(again, 0))).output, id)
    }
    clearInterval(ticking)
  })

  test('a divergence by what no record orders names it, and what to use instead (RUN-144)', async () => {
    await using home = await open()
    const cs = home.process()
    const call = cs.tool((n: number) => n, { name: 'call' })
    await cs.run({ id: 'r', name: 'order' }, async () => [await call(1), await call(2)])
    const again = home.process()
    const same = again.tool((n: number) => n, { name: 'call' })
    const error = await rejection(again.replay('r', async () => [await same(1)]))
    assert.is(codeOf(error), 'replay-diverged')
    assert.match(String(error), /Math\.random\(\)[^\n]*run\.once/)
    assert.match(String(error), /setTimeout[^\n]*run\.sleep\(\)/)
  })

  test.run()
}
