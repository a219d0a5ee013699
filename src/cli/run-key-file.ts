/** @module The file of a run's disclosed keys: what `keys disclose` prints and `verify --run-key` reads. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { usageFailure } from './failure.ts'

const RunKeyFile = z.object({
  v: z.literal(1),
  stream: z.string(),
  /** base64url of 32 bytes each. */
  keys: z.array(z.object({ kid: z.string(), key: z.string().regex(/^[A-Za-z0-9_-]{43}$/) })).min(1),
})

export type RunKeyFile = z.infer<typeof RunKeyFile>

/** Throws `CliFailure` with exit code 2. Its message holds nothing of the file. */
export function readRunKeyFile(path: string): RunKeyFile {
  try {
    return RunKeyFile.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    throw usageFailure(`--run-key: ${path} is not a file that "countersign keys disclose" has printed`)
  }
}
