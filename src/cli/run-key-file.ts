/** @module The file of a run's disclosed keys: printed by `keys disclose`, read by `verify --run-key`. */

import { createSecretKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJson } from '../../schemas/json.ts'
import type { VerifyKeys } from '../verify/verify-records.ts'
import { usageFailure } from './failure.ts'

const RunKeyFile = z.object({
  v: z.literal(1),
  stream: z.string(),
  /** Each key is 32 bytes in base64url. */
  keys: z.array(z.object({ kid: z.string(), key: z.string().regex(/^[A-Za-z0-9_-]{43}$/) })).min(1),
})

export type RunKeyFile = z.infer<typeof RunKeyFile>

/** Throws `CliFailure` with exit code 2. Its message contains nothing from the file. */
export function readRunKeyFile(path: string): RunKeyFile {
  try {
    return RunKeyFile.parse(parseJson(readFileSync(path, 'utf8')))
  } catch {
    throw usageFailure(`--run-key: ${path} is not a file that "countersign keys disclose" has printed`)
  }
}

/** Keys that verify only the events of this run, oldest first; the master keys that they derive from are not disclosed. */
export function disclosedKeys({ stream: own, keys }: RunKeyFile): VerifyKeys {
  const known = new Map(keys.map(({ kid, key }) => [kid, createSecretKey(Buffer.from(key, 'base64url'))]))
  return {
    ring: { keys: keys.map(({ kid }) => ({ kid, secret: new Uint8Array(0), created: '' })) },
    runKeys: { keyFor: (kid, _tenant, stream) => (stream === own ? known.get(kid) : undefined) },
  }
}
