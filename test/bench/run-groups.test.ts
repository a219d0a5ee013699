import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { BenchGroup } from '../../bench/bench.ts'
import { readOptions } from '../../bench/options.ts'
import type { Row } from '../../bench/report.ts'
import { runGroups } from '../../bench/run-groups.ts'

const test = suite('bench: groups of rows')

const ROW: Row = { id: 'row', what: 'something', unit: '', numerator: 1, bound: 'at-most', floor: 2 }

function groupOf(
  name: string,
  faults: { readonly open?: true; readonly round?: true; readonly close?: true },
): BenchGroup {
  const faulty = async (isFaulty: boolean | undefined, what: string): Promise<void> => {
    if (isFaulty === true) throw new Error(what)
  }
  return {
    name,
    ids: [name],
    open: async () => {
      await faulty(faults.open, 'not opened')
      return {
        round: () => faulty(faults.round, 'not measured'),
        rows: () => [{ ...ROW, id: name }],
        [Symbol.asyncDispose]: () => faulty(faults.close, 'not closed'),
      }
    },
  }
}

test('a group that breaks is named with its reason, and the others keep their results', async () => {
  const groups = [
    groupOf('first', {}),
    groupOf('second', { open: true }),
    groupOf('third', { round: true }),
    { ...groupOf('fourth', {}), open: async () => ({ skipped: 'not here' }) },
    groupOf('fifth', { close: true }),
    groupOf('sixth', {}),
  ]
  const { rows, broken, skipped } = await runGroups(groups, readOptions([], ''), () => undefined)
  assert.equal(
    rows.map(({ id }) => id),
    ['first', 'fifth', 'sixth'],
  )
  assert.equal(broken, ['second (not opened)', 'third (not measured)', 'fifth (not closed)'])
  assert.equal(skipped, ['fourth (not here)'])
})

test.run()
