import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { AIRLINE_RUNS, readAirlineRuns, SKIPPED } from '../../../support/airline-runs.ts'
import { driveRun, isJudged, judgeStep, leavesOf, placed, SHAPES, type Step, spoilings } from './airline-handoffs.ts'

const test = suite('judgement: real airline runs')

const runs = AIRLINE_RUNS === undefined ? [] : readAirlineRuns(AIRLINE_RUNS)
if (AIRLINE_RUNS === undefined) console.log(SKIPPED)

function eachStep(visit: (step: Step, name: string) => void): void {
  for (const shape of SHAPES) for (const run of runs) driveRun(run, shape, (step) => visit(step, `${run.id} ${shape}`))
}

test('of real runs that hand over after each tool result, under reject, none is refused (JUD-19, JUD-21)', () => {
  const refused: string[] = []
  let [handoffs, moved] = [0, 0]
  eachStep((step, name) => {
    handoffs += 1
    const { verdict, findings } = judgeStep(step, step.after)
    if (findings.some(({ rule }) => rule === 'moved-by-tool')) moved += 1
    if (verdict === 'reject')
      refused.push(`${name} ${JSON.stringify(findings.filter((f) => f.severity === 'error').slice(0, 2))}`)
  })
  console.log(`${handoffs} handoffs, ${moved} of them moved by a tool, ${refused.length} refused`)
  assert.equal(refused, [])
})

test('one established leaf spoiled, of any kind, is refused: none of thousands is missed (JUD-19)', () => {
  const table = new Map<string, { spoiled: number; missed: string[] }>()
  let seed = 1
  eachStep((step, name) => {
    const established = leavesOf(step.before)
    for (let i = 0; i < 4 && established.length > 0; i++) {
      seed = (seed * 48271) % 2147483647
      const leaf = established[seed % established.length] as { place: readonly (string | number)[]; value: Json }
      const others = established.filter((each) => typeof each.value === typeof leaf.value && each.value !== leaf.value)
      const other = others[(seed >> 8) % Math.max(1, others.length)]?.value
      for (const [kind, after] of spoilings(step.after, leaf, other)) {
        const row = table.get(kind) ?? { spoiled: 0, missed: [] }
        table.set(kind, row)
        row.spoiled += 1
        if (judgeStep(step, after).verdict === 'accept')
          row.missed.push(`${name} /${leaf.place.join('/')} ${leaf.value}`)
      }
    }
  })
  for (const [kind, { spoiled, missed }] of table)
    console.log(`${kind.padEnd(12)} ${spoiled} spoiled, ${missed.length} missed`)
  assert.equal(
    [...table.values()].flatMap(({ missed }) => missed),
    [],
  )
})

test('of new leaves that name another value of the same result, at most 2 % are missed (JUD-21)', () => {
  const missed = new Map<string, number>()
  let [spoiled, missedInAll] = [0, 0]
  eachStep((step) => {
    if (judgeStep(step, step.after).findings.some(({ rule }) => rule === 'moved-by-tool')) return
    const leaves = leavesOf(step.result).filter(({ value }) => isJudged(value))
    leaves.forEach((leaf, i) => {
      if (i % 3 !== 0) return
      const others = leaves.filter(({ value }) => value !== leaf.value && typeof value === typeof leaf.value)
      const other = others[(i * 7919) % Math.max(1, others.length)]
      if (other === undefined) return
      spoiled += 1
      const after = placed(step.after, [...step.place, ...leaf.place], other.value) as JsonObject
      if (judgeStep(step, after).verdict === 'reject') return
      missedInAll += 1
      const key = `${step.place.at(-2)} ${leaf.place.map((token) => (typeof token === 'number' ? '*' : token)).join('/')}`
      missed.set(key, (missed.get(key) ?? 0) + 1)
    })
  })
  console.log(`${spoiled} new leaves spoiled, ${missedInAll} missed`, missed)
  assert.ok(missedInAll <= 0.02 * spoiled, `${missedInAll} of ${spoiled}`)
})

test.run()
