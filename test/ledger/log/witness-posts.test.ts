import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Witness } from '../../../src/ledger/log/ask-witness.ts'
import { WitnessPosts } from '../../../src/ledger/log/witness-posts.ts'
import { MemoryBudget } from '../../../src/resources/memory-budget.ts'
import { eventually } from '../../support/within.ts'

const test = suite('ledger: posts to witnesses')

test('a file of the logs that cannot be read when a checkpoint is to be posted is one warning: it is posted later (F115)', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): number => unhandled.push(error)
  process.on('unhandledRejection', note)
  const warned: unknown[] = []
  const log = { info: () => undefined, warn: (fields: object) => warned.push(fields), error: () => undefined }
  const added: string[] = []
  const witness = {
    url: 'http://witness.test',
    verifier: { name: 'w' },
    add: async (body: string) => {
      added.push(body)
      return { status: 400, body: 'no' }
    },
  } as unknown as Witness
  let reads = 0
  const logs = {
    // Read by whoever asks, then by the courier: that second reading fails, once.
    note: () => {
      reads += 1
      if (reads === 2) throw new Error('log.db was damaged and is rebuilt')
      return { text: 'acme\n1\nroot\n', size: 1 }
    },
    proof: () => [],
    successions: () => [],
  }
  try {
    using posts = new WitnessPosts([witness], logs, { log: log as never, memory: new MemoryBudget() })
    posts.post('acme')
    await eventually(() => warned[0], 'the warning')
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(unhandled, [])
    posts.post('acme')
    await eventually(() => added[0], 'the checkpoint at the witness')
    const counted = await eventually(() => posts.failures()[0], 'the refusal is counted')
    assert.equal([counted.witness, counted.count], ['w', 1])
    assert.is.not(counted.code, 'unreachable')
  } finally {
    process.off('unhandledRejection', note)
  }
})

test.run()
