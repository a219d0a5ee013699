import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MemoryBudget, SHARE_NAMES, SHARES_OF_RUNS } from '../../src/resources/memory-budget.ts'

const test = suite('a budget of memory that threads divide')

const MIB = 1024 * 1024

test('threads that decide and seal have a part each of what is kept of runs; together they are the share, and the rest is whole (RUN-109)', () => {
  const [whole, part] = [new MemoryBudget(900 * MIB), new MemoryBudget(900 * MIB, 3)]
  for (const name of SHARE_NAMES) {
    const isDivided = (SHARES_OF_RUNS as readonly string[]).includes(name)
    assert.is(part.limitOf(name), isDivided ? Math.floor(whole.limitOf(name) / 3) : whole.limitOf(name), name)
  }
  const limits = (budget: MemoryBudget) => budget.snapshot().map(({ limitBytes }) => limitBytes)
  assert.equal(limits(part), limits(whole), 'what is reported is the share of the process')
})

test.run()
