/**
 * @module Prints how labelled handoffs are judged: `node dist/test/support/judgement-figures.js FILE.jsonl... [--groups] [--names] [--half 0|1]`. Without a file
 * the runs of 25 steps alone. Half 0 is for looking, half 1 for reporting: handoffs of odd places.
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { PolicyObject } from '../../schemas/policy.ts'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import { brokenSteps, innocentSteps, spoiltSteps } from '../domain/validator/judgement/bookkeeping/steps.ts'
import { judgeLabelled, type Labelled } from '../domain/validator/judgement/confusion.ts'
import { figuresOf, outcomeOf, printedCounts } from '../domain/validator/judgement/outcomes.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    groups: { type: 'boolean' },
    names: { type: 'boolean' },
    half: { type: 'string' },
    policy: { type: 'string', multiple: true },
  },
})

type Named = readonly [name: string, set: readonly Labelled[]]

function setsOf(file: string): readonly Named[] {
  const all: (Labelled & { readonly debatable?: boolean })[] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const half = all.filter((_, i) => values.half === undefined || i % 2 === Number(values.half))
  const name = basename(file)
  const debatable = half.filter((each) => each.debatable === true)
  const sets: Named[] = [[name, half.filter((each) => each.debatable !== true)]]
  return debatable.length === 0 ? sets : [...sets, [`${name}, debatable`, debatable]]
}

const SEQUENCES: readonly Named[] = [
  ['25 steps, ten trades', innocentSteps],
  ['25 steps, one leaf of what was given spoilt', spoiltSteps],
  ['25 steps, one kind broken', brokenSteps],
]
const policies = (values.policy ?? ['{}', '{"suspect":"refuse"}']).map(
  (text) => [text, PolicyObject.parse(JSON.parse(text))] as const,
)

for (const [text, policy] of policies) {
  for (const [name, set] of [...positionals.flatMap(setsOf), ...SEQUENCES]) {
    const resolved = resolvePolicy(policy)
    const { innocent, spoilt, groups } = figuresOf(set, resolved, ({ domain, kind }) => `${domain} ${kind}`)
    console.log(`${text} ${name}`)
    if (innocent.of > 0) console.log(`  innocent: ${printedCounts(innocent)}`)
    if (spoilt.of > 0) console.log(`  spoilt:   ${printedCounts(spoilt)}`)
    if (values.groups === true)
      for (const [group, counts] of [...groups].sort()) console.log(`    ${group}: ${printedCounts(counts)}`)
    if (values.names === true) for (const labelled of set) printWrong(labelled)
  }

  function printWrong(labelled: Labelled): void {
    const verdict = judgeLabelled(labelled, resolvePolicy(policy))
    const outcome = outcomeOf(verdict)
    if (outcome === (labelled.label === 'accept' ? 'silent' : 'refused')) return
    console.log(`    ${labelled.label} ${outcome} ${labelled.domain}: ${labelled.kind}: ${labelled.why}`)
    for (const { rule, severity, path, before, after } of verdict.findings) {
      console.log(
        `      ${severity} ${rule} ${path} ${JSON.stringify(before)?.slice(0, 90)} -> ${JSON.stringify(after)?.slice(0, 90)}`,
      )
    }
  }
}
