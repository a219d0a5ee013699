import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RunWaiting } from '../../src/agent/errors.ts'
import { agent } from '../../src/agent/loop/agent.ts'
import { ScriptedModel } from '../../src/agent/loop/scripted-model.ts'
import { ApprovalDenied } from '../../src/agent/loop/tool-error.ts'
import type { Approval } from '../../src/agent/runtime/approvals.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { eventually, within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter, rejection, type TestHome } from './homes.ts'

async function pending(home: TestHome, who: Countersign): Promise<Approval> {
  const first = async (): Promise<Approval | undefined> => {
    for await (const approval of who.approvals.list()) return approval
    return undefined
  }
  return eventually(first, `a call that waits for an approval in ${home.connection.place}`)
}

for (const { name, open } of HOMES) {
  const test = suite(`approvals ${name}`)

  const paying = (cs: Countersign, effects: unknown[], more: object = {}) =>
    cs.tool((cents: number) => effects.push(cents), {
      name: 'pay',
      approve: { when: 'args[0] > 1000', ...more },
      compensate: ({ args: [cents] }) => effects.push(`back ${cents}`),
    })

  test('a call that waits goes on in the program that waits for it; one that no rule is about does not wait (RUN-64)', async () => {
    await using home = await open()
    const effects: unknown[] = []
    const cs = home.process()
    const pay = paying(cs, effects)
    const paid = cs.run({ id: 'r' }, async () => [await pay(10), await pay(5_000)])
    const bob = await home.as('bob')
    const approval = await pending(home, bob)
    assert.equal(approval.args, [5_000])
    assert.equal(effects, [10])
    assert.is(await bob.approvals.grant(approval, { comment: 'fine' }), 'granted')
    assert.equal(await within(paid, 'the payment'), [1, 2])
    assert.equal(effects, [10, 5_000])
    assert.is((await cs.replay('r', async () => [await pay(10), await pay(5_000)])).verdict, 'exact')
  })

  test('a decision says what it takes, if it is given something else (RUN-290)', async () => {
    await using home = await open()
    const { approvals } = home.process()
    const ref = { runId: 'r', approvalId: 'a', argsDigest: 'sha256:1' }
    const decisions = ['grant', 'deny', 'withdraw'] as const
    for (const decide of decisions) {
      for (const args of [
        ['r', 'a'],
        [undefined],
        [null],
        [{ ...ref, argsDigest: '' }],
        [ref, 'fine'],
        [ref, { coment: '' }],
      ]) {
        const error = await rejection((approvals[decide] as (...given: unknown[]) => Promise<unknown>)(...args))
        assert.is(codeOf(error), 'invalid-option', JSON.stringify(args))
        assert.ok((error as Error).message.startsWith(`cs.approvals.${decide}`), (error as Error).message)
      }
    }
  })

  test('a run that leaves while it waits goes on with the next resume, by what was decided meanwhile (RUN-64)', async () => {
    await using home = await open()
    const effects: unknown[] = []
    const life = (cs: Countersign) => {
      const pay = paying(cs, effects)
      return cs.run({ id: 'r', whenWaiting: 'leave' }, async () => pay(5_000))
    }
    const noticed: string[] = []
    const left = await rejection(
      life(home.process(undefined, { onApproval: ({ approvalId }) => noticed.push(approvalId) })),
    )
    assert.ok(left instanceof RunWaiting)
    assert.is(outcomeOf(left)?.status, 'OPEN')
    assert.equal(noticed, [left.evidence.approvalId])
    assert.ok((await rejection(life(home.process()))) instanceof RunWaiting)
    const bob = await home.as('bob')
    const approval = await pending(home, bob)
    assert.is(approval.approvalId, left.evidence.approvalId)
    await bob.approvals.grant(approval)
    assert.equal(effects, [])
    assert.is(await life(home.process()), 1)
    assert.equal(effects, [5_000])
    assert.is(await life(home.process()), 1)
    assert.equal(effects, [5_000])
  })

  test('what runs beside a call that waits is carried to its end before the run is left (RUN-64)', async () => {
    await using home = await open()
    const effects: unknown[] = []
    const cs = home.process()
    const pay = paying(cs, effects)
    const slow = cs.tool(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 50))
        effects.push('slow')
      },
      { name: 'slow', compensate: 'not-needed' },
    )
    const fails = cs.tool(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 50))
        throw new Error('broke')
      },
      { name: 'fails' },
    )
    const body = async () => Promise.all([pay(5_000), slow(), fails().catch(() => undefined)])
    assert.ok((await rejection(cs.run({ id: 'r', whenWaiting: 'leave' }, body))) instanceof RunWaiting)
    assert.equal(effects, ['slow'])
    const calls = await home.connection.calls('r')
    assert.equal(calls.map(({ tool, status }) => `${tool} ${status}`).sort(), ['fails failed', 'slow succeeded'])
  })

  test('resumed code that asks for other arguments than wait for approval runs nothing (RUN-64)', async () => {
    await using home = await open()
    const effects: unknown[] = []
    const life = (cs: Countersign, cents: number) => {
      const pay = paying(cs, effects)
      return cs.run({ id: 'r', whenWaiting: 'leave' }, async () => pay(cents))
    }
    await rejection(life(home.process(), 5_000))
    const bob = await home.as('bob')
    await bob.approvals.grant(await pending(home, bob))
    assert.is(codeOf(await rejection(life(home.process(), 6_000))), 'resume-diverged')
    assert.equal(effects, [])
    assert.is(await life(home.process(), 5_000), 1)
    assert.equal(effects, [5_000])
  })

  test('a grant that is withdrawn before it is used pays nothing; granted again, the next life pays once (RUN-90)', async () => {
    await using home = await open()
    const effects: unknown[] = []
    const life = () => {
      const cs = home.process()
      const pay = paying(cs, effects)
      return cs.run({ id: 'r', whenWaiting: 'leave' }, async () => pay(5_000))
    }
    await rejection(life())
    const bob = await home.as('bob')
    const approval = await pending(home, bob)
    await bob.approvals.grant(approval)
    assert.is(await (await home.as('carol')).approvals.withdraw(approval, { comment: 'wait' }), 'pending')
    assert.is(codeOf(await rejection(life())), 'run-waiting')
    assert.equal(effects, [])
    await bob.approvals.grant(approval)
    assert.is(await life(), 1)
    assert.is(codeOf(await rejection(bob.approvals.withdraw(approval))), 'approval-used')
    assert.equal(effects, [5_000])
  })

  test('after a crash the next process learns what each open run waits for, with its name, input and tags, and what is due (RUN-64, RUN-66)', async () => {
    await using home = await open()
    const cs = home.process()
    const pay = paying(cs, [])
    const leave = (id: string, body: (run: Run) => Promise<unknown>) =>
      rejection(
        cs.run({ id, name: id, input: { of: id }, tags: ['t'], whenWaiting: 'leave' }, (run) => body(run as never)),
      )
    await leave('pays', async () => pay(5_000))
    await leave('asks', async (run) => run.waitFor('go', { until: new Date(Date.now() + 3_600_000) }))
    await leave('sleeps', async (run) => run.sleep(new Date(Date.now() + 1)))
    const { change, dead } = killedAfter(2, true)
    const killed = home.process(change)
    const work = killed.tool(async () => 'done', { name: 'work', compensate: 'not-needed' })
    void killed.run({ id: 'cut', name: 'cut off', input: { n: 1 }, tags: ['u'] }, async () => work())
    await dead
    const { open: ids, runs, waiting } = await home.process().recover()
    assert.equal([...ids].sort(), ['asks', 'cut', 'pays', 'sleeps'])
    assert.equal(
      runs.find(({ runId }) => runId === 'cut'),
      { runId: 'cut', name: 'cut off', input: { n: 1 }, tags: ['u'], waitsFor: [], due: true },
    )
    assert.equal(waiting.map(({ runId }) => runId).sort(), ['asks', 'pays', 'sleeps'])
    const seen = Object.fromEntries(waiting.map(({ runId, ...rest }) => [runId, rest]))
    assert.equal([seen.pays?.name, seen.pays?.input, seen.pays?.tags], ['pays', { of: 'pays' }, ['t']])
    assert.equal(
      seen.pays?.waitsFor.map(({ for: what, name }) => [what, name]),
      [['approval', 'pay']],
    )
    assert.equal(
      seen.asks?.waitsFor.map(({ for: what, name }) => [what, name]),
      [['signal', 'go']],
    )
    assert.equal([seen.pays?.due, seen.asks?.due, seen.sleeps?.waitsFor[0]?.for], [false, false, 'time'])
  })

  test('a denial is an error that the code can deal with, the same live, on resume and on replay (RUN-65)', async () => {
    await using home = await open()
    const effects: unknown[] = []
    const told: string[] = []
    const life = (cs: Countersign) => {
      const pay = paying(cs, effects)
      const body = async () => {
        const error = await pay(5_000).catch((thrown: Error) => thrown)
        assert.ok(error instanceof ApprovalDenied)
        told.push(error.message)
        return pay(10)
      }
      return { run: () => cs.run({ id: 'r', whenWaiting: 'leave' }, body), replay: () => cs.replay('r', body) }
    }
    await rejection(life(home.process()).run())
    const bob = await home.as('bob')
    assert.is(await bob.approvals.deny(await pending(home, bob), { comment: 'too much' }), 'denied')
    told.length = 0
    assert.is(await life(home.process()).run(), 1)
    assert.is((await life(home.process()).replay()).verdict, 'exact')
    assert.equal(told, new Array(2).fill('the call of pay was not approved and did not run: too much'))
    assert.equal(effects, [10])
  })

  test('a denial that ends the run by its rule rolls it back, whatever the code makes of the error (RUN-65)', async () => {
    await using home = await open()
    const effects: unknown[] = []
    const cs = home.process()
    const pay = paying(cs, effects, { onDenied: 'rollback' })
    const run = cs.run({ id: 'r' }, async () => {
      await pay(10)
      return pay(5_000).catch(() => 'never mind')
    })
    run.catch(() => undefined)
    const bob = await home.as('bob')
    await bob.approvals.deny(await pending(home, bob))
    const error = await within(rejection(run), 'the rollback')
    assert.ok(error instanceof ApprovalDenied)
    assert.is(outcomeOf(error)?.status, 'COMPENSATED')
    assert.equal(effects, [10, 'back 10'])
  })

  test('a model that is denied a call reads why, and answers (RUN-65)', async () => {
    await using home = await open()
    const cs = home.process()
    const pay = cs.tool({
      name: 'pay',
      approve: true,
      execute: async ({ cents }: { cents: number }) => `paid ${cents}`,
    })
    const model = new ScriptedModel([
      { tool: 'pay', args: { cents: 5_000 } },
      (messages) => `I was told: ${messages.at(-1)?.content}`,
    ])
    const payer = agent({ model, tools: [{ tool: pay, parameters: { type: 'object' } }], name: 'payer' })
    const run = cs.run({ id: 'r' }, async () => (await payer.generate({ prompt: 'Pay.' })).text)
    const bob = await home.as('bob')
    await bob.approvals.deny(await pending(home, bob), { comment: 'ask for half' })
    assert.match(await within(run, 'the answer'), /^I was told: .*not approved.*: ask for half$/)
  })

  test('an approval that nobody gives in time is an error as well, and nothing runs (RUN-65)', async () => {
    await using home = await open()
    const effects: unknown[] = []
    const cs = home.process()
    const pay = paying(cs, effects, { expiresMs: 60_000 })
    const run = rejection(cs.run({ id: 'r' }, async () => pay(5_000)))
    const bob = await home.as('bob')
    await pending(home, bob)
    home.clock.nowMs += 60_001
    assert.is(codeOf(await within(run, 'the end')), 'approval-expired')
    assert.equal(effects, [])
  })

  test('an approval whose end came first undoes nothing, and leaves the run open, unless a rule rolls it back (RUN-182)', async () => {
    for (const rule of [{}, { onDenied: 'rollback' }]) {
      await using home = await open()
      const effects: unknown[] = []
      const cs = home.process()
      const pay = paying(cs, effects, { expiresMs: 60_000, ...rule })
      const body = async () => [await pay(10), await pay(5_000)]
      const run = rejection(cs.run({ id: 'r', name: 'payment' }, body))
      await pending(home, await home.as('bob'))
      home.clock.nowMs += 60_001
      const isLeft = !('onDenied' in rule)
      const expired = await within(run, 'the end')
      assert.equal([codeOf(expired), outcomeOf(expired)?.status], ['approval-expired', isLeft ? 'OPEN' : 'COMPENSATED'])
      assert.equal(effects, isLeft ? [10] : [10, 'back 10'])
      if (!isLeft) continue
      const again = await rejection(cs.run({ id: 'r', name: 'payment' }, body))
      assert.equal([codeOf(again), outcomeOf(again)?.status], ['approval-expired', 'OPEN'])
      const otherwise = async () => [await pay(10), await pay(5_000).catch(() => 'by hand')]
      assert.equal(await cs.run({ id: 'r', name: 'payment' }, otherwise), [1, 'by hand'])
      assert.equal(effects, [10])
    }
  })

  test("whoever requested it does not approve it through the runtime either, and the run's policy is a rule as the tool's own (RUN-63)", async () => {
    await using home = await open()
    const effects: unknown[] = []
    const cs = home.process()
    const pay = cs.tool((cents: number) => effects.push(cents), { name: 'pay' })
    const policy = { approve: [{ tools: ['pay'], roles: ['treasurer'], quorum: 2 }] }
    const run = cs.run({ id: 'r', policy }, async () => pay(1))
    const treasurer = (who: string) => home.as(who, ['treasurer'])
    const approval = await pending(home, await home.as('bob'))
    assert.is(codeOf(await rejection(cs.approvals.grant(approval))), 'self-approval')
    assert.is(codeOf(await rejection((await home.as('bob')).approvals.grant(approval))), 'approval-role-missing')
    assert.is(await (await treasurer('bob')).approvals.grant(approval), 'pending')
    assert.is(codeOf(await rejection((await treasurer('bob')).approvals.grant(approval))), 'approval-decided')
    assert.equal(effects, [])
    assert.is(await (await treasurer('carol')).approvals.grant(approval), 'granted')
    assert.is(await within(run, 'the payment'), 1)
  })

  test.run()
}
