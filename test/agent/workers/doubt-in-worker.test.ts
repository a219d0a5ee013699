/** A call in doubt leaves the run of a worker as stuck, with everything kept, until somebody says what became of it (RUN-246). */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AgentError } from '../../../src/agent/errors.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { eventually, within } from '../../support/within.ts'
import { type Place, place, QUICK } from './place.ts'

type Pay = (cents: number) => Promise<string>

interface Stuck {
  readonly code: string
  readonly message: string
}

/** What the code of the run does with the call. */
const PLACES: Record<string, (cs: Countersign, pay: Pay) => (run: Run) => Promise<unknown>> = {
  'in the body': (_, pay) => () => pay(5),
  'in an error of the program': (_, pay) => () =>
    pay(5).catch((cause) => Promise.reject(new Error('the payment is gone', { cause }))),
  'in a run within the run': (cs, pay) => () => cs.run({ name: 'payment' }, () => pay(5)),
  'in a step': (_, pay) => async (run) => {
    await run.step('payer', async () => ({ paid: await pay(5) }))
    return 'paid 5'
  },
}

/** The first payment is not heard of. */
function worker(at: Place, deeds: string[], placed: (typeof PLACES)[string]) {
  const cs = at.process()
  const log = (deed: string) => deeds.push(deed)
  const book = cs.tool(async () => log('book'), { name: 'book', compensate: () => log('undo book') })
  const pay = cs.tool(
    (cents: number): Promise<string> => {
      log('pay')
      return deeds.filter((deed) => deed === 'pay').length === 1
        ? new Promise(() => undefined)
        : Promise.resolve(`paid ${cents}`)
    },
    { name: 'pay', timeout: 30, compensate: () => log('undo pay') },
  )
  const code = placed(cs, pay)
  const order = async (run: Run) => {
    await book()
    return code(run)
  }
  return cs.worker({ ...QUICK, retryMs: 60_000, runs: { order } })
}

async function stuckOf(cs: Countersign): Promise<Stuck> {
  return eventually(async () => {
    for await (const { stuck } of cs.runs({ name: 'order' })) if (stuck !== undefined) return stuck as unknown as Stuck
    return undefined
  }, 'the run that is stuck')
}

/** The call that an operator sees in doubt, in the run or in the run within it. */
async function doubtful(cs: Countersign): Promise<string> {
  const { inDoubt } = await cs.recover()
  const call = inDoubt.find(({ tool }) => tool === 'pay')
  return String(call?.callId)
}

for (const kind of ['in process', 'over HTTP'] as const) {
  const test = suite(`a call in doubt in a worker's run ${kind}`)

  for (const [where, placed] of Object.entries(PLACES))
    for (const executed of [true, false])
      test(`${where}: stuck, and carried on once it is ${executed ? 'found' : 'found not to have been'} executed (RUN-246, A482)`, async () => {
        await using at = await place(kind)
        const deeds: string[] = []
        await using hands = worker(at, deeds, placed)
        const cs = at.process()
        await cs.start('order', null, { id: 'r' })
        const stuck = await stuckOf(cs)
        assert.is(stuck.code, 'call-in-doubt', stuck.message)
        assert.equal(deeds, ['book', 'pay'], 'nothing is undone')
        const found = executed ? { executed, result: 'paid 5' } : { executed }
        const callId = await doubtful(cs)
        await cs.resolve(callId, { ...found, reason: 'the bank says so' })
        assert.is(await within(cs.result('r'), 'the result'), 'paid 5')
        assert.equal(deeds, executed ? ['book', 'pay'] : ['book', 'pay', 'pay'])
        await within(hands.stop(), 'the worker')
        assert.not.ok((await at.events()).includes('CompensationStarted'))
      })

  for (const executed of [true, false])
    test(`what the code did once it had met the doubt holds nothing that it does with the outcome, ${executed} (RUN-246)`, async () => {
      await using at = await place(kind)
      const deeds: string[] = []
      const goesOn = (cs: Countersign, pay: Pay) => {
        const say = cs.tool(async (what: string) => deeds.push(what), { name: 'say', onUnknown: 'retry' })
        const ship = cs.tool(async () => deeds.push('ship'), { name: 'ship', onUnknown: 'retry' })
        return async () => {
          try {
            const paid = await pay(5)
            await ship()
            return paid
          } finally {
            await say('over')
          }
        }
      }
      await using hands = worker(at, deeds, goesOn)
      const cs = at.process()
      await cs.start('order', null, { id: 'r' })
      assert.is((await stuckOf(cs)).code, 'call-in-doubt')
      assert.equal(deeds, ['book', 'pay', 'over'])
      await cs.resolve(await doubtful(cs), {
        ...(executed ? { executed, result: 'paid 5' } : { executed }),
        reason: 'the bank says so',
      })
      assert.is(await within(cs.result('r'), 'the result'), 'paid 5')
      assert.equal(deeds, ['book', 'pay', 'over', ...(executed ? [] : ['pay']), 'ship'])
      await within(hands.stop(), 'the worker')
    })

  test('a run that stops its own worker is told so, and ends as it would (RUN-247, A483)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    let stop = (): Promise<void> => Promise.resolve()
    const order = async () => {
      const error = await stop().then(
        () => new Error('it has stopped'),
        (thrown: unknown) => thrown,
      )
      assert.instance(error, AgentError)
      // Not awaited, it ends no process.
      void stop()
      return (error as AgentError).code
    }
    await using hands = cs.worker({ ...QUICK, runs: { order, nested: () => cs.run({ name: 'inner' }, order) } })
    stop = () => hands.stop()
    await cs.start('nested', null, { id: 'r' })
    assert.is(await within(cs.result('r'), 'the run'), 'recursive-call')
    await within(hands.done, 'the worker, which has stopped all the same')
    await within(hands.stop(), 'a stop from outside')
  })

  test('a start is for a time of the year 9999 at the latest, by UTC (RUN-220)', async () => {
    await using at = await place(kind)
    const cs = at.process()
    const last = new Date('9999-12-31T23:59:59.999Z')
    await cs.start('order', null, { id: 'last', after: last })
    for await (const { dueAt } of cs.runs({ name: 'order' })) assert.is(dueAt, last.toISOString())
    const error = await cs.start('order', null, { after: new Date(last.getTime() + 1) }).catch((thrown) => thrown)
    assert.is(error.code, 'invalid-option')
  })

  test.run()
}
