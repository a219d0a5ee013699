import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type AgentError, OutcomeUnknown } from '../../src/agent/errors.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter, LONG_MS, NO_WAIT, rejection, type TestHome } from './homes.ts'

for (const { name, open } of HOMES) {
  const doubt = suite(`the end of a doubt ${name}`)

  const dies = async (home: TestHome, commands: number, life: (cs: Countersign) => Promise<unknown>): Promise<void> => {
    const { change, dead } = killedAfter(commands, true)
    life(home.process(change)).catch(() => undefined)
    await within(dead, 'the death')
    home.clock.nowMs += LONG_MS
  }

  doubt('somebody resolves a call: the resume goes on with what they found (RUN-17)', async () => {
    for (const executed of [true, false]) {
      await using home = await open()
      let effects = 0
      const life = (cs: Countersign) => {
        const charge = cs.tool(() => `charge ${++effects}`, { name: 'charge' })
        return cs.run({ id: 'r' }, () => charge())
      }
      await dies(home, 2, life)
      const before = effects
      const error = (await rejection(life(home.process()))) as AgentError
      const { callId, runId } = error.evidence
      assert.equal([codeOf(error), runId], ['call-in-doubt', 'r'])
      const cs = home.process()
      assert.equal(
        (await cs.recover()).inDoubt.map((call) => call.callId),
        [callId],
      )
      const resolution = executed ? { executed, result: 'found' } : { executed }
      const resolved = await cs.resolve(String(callId), { ...resolution, reason: 'the bank says so' })
      assert.equal(resolved, { runId: 'r', callId, status: executed ? 'succeeded' : 'failed' })
      assert.is(await life(home.process()), executed ? 'found' : `charge ${before + 1}`)
      assert.is(effects, executed ? before : before + 1)
      for await (const { data } of home.connection.events('r', 'ToolCallResolved'))
        assert.equal(data.evidence, { reason: 'the bank says so' })
      const again = await rejection(cs.resolve(String(callId), { executed: false, reason: 'late', run: 'r' }))
      assert.is(codeOf(again), 'call-not-in-doubt')
      const strange = { executed: true, reason: 'x' }
      assert.is(codeOf(await rejection(cs.resolve('01890000-0000-7000-8000-000000000000', strange))), 'call-not-found')
    }
  })

  doubt(
    'a run that ended in doubt: what a resolution shows was done is undone by recover, once (RUN-55, F90)',
    async () => {
      await using home = await open()
      const undone: unknown[] = []
      const process = () => {
        const cs = home.process()
        const charge = cs.tool(() => Promise.reject(new OutcomeUnknown()), {
          name: 'charge',
          compensate: ({ result }) => undone.push(result),
        })
        return { cs, life: () => cs.run({ id: 'r' }, () => charge()) }
      }
      const error = await rejection(process().life())
      assert.is(outcomeOf(error)?.status, 'IN_DOUBT')
      const { cs } = process()
      const first = await cs.recover()
      assert.equal(
        first.inDoubt.map(({ tool }) => tool),
        ['charge'],
      )
      const { callId = '' } = first.inDoubt[0] ?? {}
      await cs.resolve(callId, { executed: true, result: 'p-1', reason: 'it is on the statement' })
      assert.equal(
        (await cs.recover()).rolledBack.map(({ status }) => status),
        ['COMPENSATED'],
      )
      assert.equal(undone, ['p-1'])
      const last = await process().cs.recover()
      assert.equal([last.rolledBack, last.inDoubt], [[], []], 'there is nothing left to do')
      assert.is(outcomeOf(await rejection(process().life()))?.status, 'COMPENSATED')
    },
  )

  doubt('a compensation in doubt is settled by its own check, or repeated where it says so (RUN-55)', async () => {
    const kinds = {
      asked: { check: () => ({ done: true, result: null }) as const },
      'called again': { check: () => ({ done: false }) as const },
      repeated: { onUnknown: 'retry' } as const,
    }
    for (const [kind, options] of Object.entries(kinds)) {
      await using home = await open()
      const keys: string[] = []
      const process = () => {
        const cs = home.process()
        const charge = cs.tool(() => 'p-1', {
          name: 'charge',
          backoff: NO_WAIT,
          compensate: {
            ...options,
            run: ({ result }, { idempotencyKey }) => {
              keys.push(idempotencyKey)
              if (keys.length === 1) throw new OutcomeUnknown(`refund of ${result}`)
            },
          },
        })
        const fail = () => Promise.reject(new Error('enough'))
        return { cs, life: () => cs.run({ id: 'r' }, () => charge().then(fail)) }
      }
      const status = outcomeOf(await rejection(process().life()))?.status
      assert.is(status, 'COMPENSATED', kind)
      assert.is(keys.length, kind === 'asked' ? 1 : 2, kind)
      assert.is(new Set(keys).size, 1, 'one idempotency key')
    }
  })

  doubt(
    'a compensation whose fate nobody can tell is looked at once a rollback, and then left in doubt (RUN-55)',
    async () => {
      await using home = await open()
      let refunds = 0
      let checks = 0
      const process = () => {
        const cs = home.process()
        const charge = cs.tool(() => 'p-1', {
          name: 'charge',
          compensate: {
            check: () => {
              checks += 1
              return undefined
            },
            run: () => {
              refunds += 1
              throw new OutcomeUnknown()
            },
          },
        })
        const fail = () => Promise.reject(new Error('enough'))
        return { cs, life: () => cs.run({ id: 'r' }, () => charge().then(fail)) }
      }
      assert.is(outcomeOf(await rejection(process().life()))?.status, 'IN_DOUBT')
      assert.equal([refunds, checks <= 2], [1, true], `${checks} checks`)
      const before = checks
      assert.is((await process().cs.recover()).inDoubt.length, 1)
      assert.equal([refunds, checks - before <= 2], [1, true], `${checks - before} checks`)
    },
  )

  doubt('a call in doubt of a run that was rolled back is listed also where it may be repeated (RUN-260)', async () => {
    await using home = await open()
    const process = () => {
      const cs = home.process()
      const options = { name: 'charge', onUnknown: 'retry', compensate: () => undefined } as const
      const charge = cs.tool(() => Promise.reject(new OutcomeUnknown()), options)
      return { cs, life: () => cs.run({ id: 'r' }, () => charge()) }
    }
    assert.is(outcomeOf(await rejection(process().life()))?.status, 'IN_DOUBT')
    const { inDoubt } = await process().cs.recover()
    assert.equal(
      inDoubt.map(({ runId, tool }) => [runId, tool]),
      [['r', 'charge']],
    )
  })

  doubt('a compensation that somebody found was not carried out is carried out by recover (RUN-55, F91)', async () => {
    await using home = await open()
    let refunds = 0
    const process = () => {
      const cs = home.process()
      const charge = cs.tool(() => 'p-1', {
        name: 'charge',
        compensate: () => {
          refunds += 1
          if (refunds === 1) throw new OutcomeUnknown()
        },
      })
      const fail = () => Promise.reject(new Error('enough'))
      return { cs, life: () => cs.run({ id: 'r' }, () => charge().then(fail)) }
    }
    assert.is(outcomeOf(await rejection(process().life()))?.status, 'IN_DOUBT')
    const { cs } = process()
    const { inDoubt } = await cs.recover()
    assert.is(refunds, 1, 'nobody repeats it by themselves')
    const [compensation] = inDoubt
    assert.is(inDoubt.length, 1)
    await cs.resolve(compensation?.callId ?? '', { executed: false, reason: 'no refund on the statement' })
    assert.equal(
      (await cs.recover()).rolledBack.map(({ status }) => status),
      ['COMPENSATED'],
    )
    assert.is(refunds, 2)
  })

  doubt.run()
}
