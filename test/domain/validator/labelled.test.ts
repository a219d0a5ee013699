import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Diff, Finding } from '../../../schemas/finding.ts'
import type { Policy, ResolvedPolicy } from '../../../schemas/policy.ts'
import { resolvePolicy } from '../../../schemas/resolve-policy.ts'
import { readPolicy } from '../../../src/domain/validator/policy/with-manifest.ts'
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

/** The policy as release 0.1.0 recorded it, read as it is read now. */
function recordedBy010(policy: Policy = 'default'): ResolvedPolicy {
  const { base, criticalKeys, ungrounded } = resolvePolicy(policy)
  return readPolicy({ base, criticalKeys, ungrounded })
}

const test = suite('validator: handoffs under a policy that 0.1.0 recorded')

// Each line is also a line that `countersign validate` reads.
const lines = readFileSync('test/vectors/validator/handoffs.jsonl', 'utf8').trim().split('\n')

for (const line of lines) {
  const { claim, policy, expect } = JSON.parse(line) as Labelled
  test(claim, () => {
    const judged = JSON.parse(validateLine(line, recordedBy010(policy), parseStrictJson))
    assert.equal(
      Object.keys(judged).filter((key) => key !== 'confidence'),
      ['verdict', 'diff', 'findings'],
    )
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
