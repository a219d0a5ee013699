/**
 * @module What policy `relay` says of the pairs of the vectors: forth, back, and each context against that of a later line. One line a verdict;
 * `node dist/test/support/relay-verdicts.js` prints them.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../schemas/json.ts'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import { validateHandoff } from '../../src/domain/validator/validate.ts'
import { ROOT } from './source-root.ts'

/** So many lines on stands another context, that has little or nothing to do with it. */
const LATER = [1, 60]

interface Pair {
  readonly before: JsonObject
  readonly after: JsonObject
}

export function relayVerdicts(): readonly string[] {
  const files = ['handoffs.jsonl', 'judgement.jsonl']
  const lines = files.flatMap((file) =>
    readFileSync(join(ROOT, 'test/vectors/validator', file), 'utf8')
      .trim()
      .split('\n'),
  )
  const pairs = lines.map((line) => JSON.parse(line) as Pair)
  return pairs.flatMap(({ before, after }, i) => {
    const others = LATER.map((by) => pairs[(i + by) % pairs.length] as Pair)
    const all = [
      { before, after },
      { before: after, after: before },
      ...others.map((other) => ({ before, after: other.after })),
    ]
    return all.map(verdictOf)
  })
}

function verdictOf({ before, after }: Pair): string {
  const { verdict, confidence, findings, diff } = validateHandoff({ before, after, policy: resolvePolicy('relay') })
  return JSON.stringify([verdict, confidence, findings.map(({ rule, path }) => `${rule} ${path}`), diff])
}

if (process.argv[1] === import.meta.filename) for (const line of relayVerdicts()) console.log(line)
