/** @module `countersign validate`: judges handoffs line by line, in order, holding the input back while the output is slow. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Policy, PolicyObject, type ResolvedPolicy } from '../../schemas/policy.ts'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import { LINE_MAX_BYTES, validateLine } from '../domain/validator/validate-line.ts'
import { parseStrictJson } from '../signing/strict-json.ts'
import { readLines } from '../verify/read-lines.ts'
import type { Arguments } from './arguments.ts'
import { explainVerdict } from './explain-verdict.ts'
import { EXIT, usageFailure } from './failure.ts'
import { jsonVisible } from './shown.ts'

export async function validate({ text, has }: Arguments): Promise<number> {
  const policy = policyOf(text('policy') ?? 'default')
  // One byte more than a line may have: the judge sees that there was more.
  for await (const lines of readLines(process.stdin, LINE_MAX_BYTES + 1)) {
    const verdicts = lines.map(({ bytes }) => {
      const verdict = validateLine(bytes, policy, parseStrictJson)
      return `${has('explain') ? explainVerdict(verdict) : jsonVisible(verdict)}\n`
    })
    if (!process.stdout.write(verdicts.join(''))) await once(process.stdout, 'drain')
  }
  return EXIT.ok
}

/** A name, or a file with the JSON form of a policy. */
function policyOf(inputs: string): ResolvedPolicy {
  const named = Policy.safeParse(inputs)
  if (named.success) return resolvePolicy(named.data)

  const parsed = parseStrictJson(readPolicyFile(inputs))
  if (!parsed.ok) throw usageFailure(`--policy: ${inputs}: ${parsed.error.message}`)
  const policy = PolicyObject.safeParse(parsed.value)
  if (policy.success) return resolvePolicy(policy.data)
  const issue = policy.error.issues[0]
  throw usageFailure(`--policy: ${inputs} is no policy: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim())
}

function readPolicyFile(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch {
    throw usageFailure(`--policy: "${path}" is neither default nor relay nor a file that can be read`)
  }
}
