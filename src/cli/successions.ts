/** @module The file of a log's key successions: signed notes, as a JSON array of texts. */

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJsonOrUndefined } from '../../schemas/json.ts'

import type { Settings } from '../settings/config.ts'
import { requireKeys } from '../settings/key-source.ts'
import { usageFailure } from './failure.ts'

const SuccessionFile = z.array(z.string()).max(10_000)

/** Throws `CliFailure` if the file has another form. The caller verifies the notes. */
export function successionsIn(path: string): readonly string[] {
  const file = SuccessionFile.safeParse(parseJsonOrUndefined(readFileSync(path, 'utf8')))
  if (!file.success)
    throw usageFailure(`${path} is no file of successions, as "countersign checkpoint --successions" prints it`)
  return file.data
}

/** The successions in the key file, oldest first; each names the next key. */
export function ownSuccessions({ keys }: Settings): readonly string[] {
  return requireKeys(keys).formerLogKeys.map(({ succession }) => succession)
}
