/** @module `countersign validate`: judges handoffs line by line, in order, with backpressure on the input while the output is slow. */
import { once } from 'node:events'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import { LINE_MAX_BYTES, validateLine } from '../domain/validator/validate-line.ts'
import { readPolicies } from '../settings/policy-file.ts'
import { parseStrictJson } from '../signing/strict-json.ts'
import { readLines } from '../verify/read-lines.ts'
import type { Arguments } from './arguments.ts'
import { explainVerdict } from './explain-verdict.ts'
import { EXIT } from './failure.ts'
import { jsonVisible } from './shown.ts'

const TENANT_DEFAULT = 'default'

export async function validate({ settings, text, has }: Arguments): Promise<number> {
  const policy = resolvePolicy(readPolicies(settings.policy ?? 'default')(text('tenant') ?? TENANT_DEFAULT))
  // One byte more than the limit of a line, so that the judge can detect longer lines.
  for await (const lines of readLines(process.stdin, LINE_MAX_BYTES + 1)) {
    const verdicts = lines.map(({ bytes }) => {
      const verdict = validateLine(bytes, policy, parseStrictJson)
      return `${has('explain') ? explainVerdict(verdict) : jsonVisible(verdict)}\n`
    })
    if (!process.stdout.write(verdicts.join(''))) await once(process.stdout, 'drain')
  }
  return EXIT.ok
}
