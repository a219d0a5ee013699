import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Diff, Finding } from '../../../schemas/finding.ts'
import type { Policy } from '../../../schemas/policy.ts'
import { resolvePolicy } from '../../../schemas/resolve-policy.ts'
import { validateLine } from '../../../src/domain/validator/validate-line.ts'
import { parseStrictJson } from '../../../src/signing/strict-json.ts'

interface Labelled {
  readonly claim: string
  readonly policy?: Policy
  readonly expect: {
    readonly verdict: string
    readonly confidence?: number
    readonly diff?: Diff
    readonly findings: readonly (readonly [rule: string, path: string])[]
  }
}

/** The vectors fix rule set 1, which runs that began under it keep. */
function firstRules(policy: Policy = 'default'): ReturnType<typeof resolvePolicy> {
  return resolvePolicy({ ...(typeof policy === 'string' ? { base: policy } : policy), rules: 1 })
}

const test = suite('validator: labelled handoffs, rule set 1')

// Each line is also a line that `countersign validate` reads.
const lines = readFileSync('test/vectors/validator/handoffs.jsonl', 'utf8').trim().split('\n')

for (const line of lines) {
  const { claim, policy, expect } = JSON.parse(line) as Labelled
  test(claim, () => {
    const judged = JSON.parse(validateLine(line, firstRules(policy), parseStrictJson))
    assert.equal(Object.keys(judged), ['verdict', 'confidence', 'diff', 'findings'])
    const findings = judged.findings.map(({ rule, path }: Finding) => [rule, path])
    assert.equal({ verdict: judged.verdict, findings }, { verdict: expect.verdict, findings: expect.findings })
    if (expect.confidence !== undefined) assert.is(judged.confidence, expect.confidence)
    if (expect.diff !== undefined) assert.equal(judged.diff, expect.diff)
  })
}

test('the table holds what it should', () => {
  assert.ok(lines.length >= 150)
  const claims = lines.map((line) => (JSON.parse(line) as Labelled).claim)
  assert.is(new Set(claims).size, claims.length)
})

test.run()
