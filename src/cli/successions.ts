/** @module The file of a log's key successions: signed notes, as a JSON array of texts. */

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJsonOrUndefined } from '../../schemas/json.ts'

import type { Settings } from '../settings/config.ts'
import { requireKeys } from '../settings/key-source.ts'
import { usageFailure } from './failure.ts'

const SuccessionFile = z.array(z.string()).max(10_000)

/** Throws `CliFailure` where the file holds something else. What the notes say is for whoever reads them to check. */
export function successionsIn(path: string): readonly string[] {
  const file = SuccessionFile.safeParse(parseJsonOrUndefined(readFileSync(path, 'utf8')))
  if (!file.success)
    throw usageFailure(`${path} is no file of successions, as "countersign checkpoint --successions" prints it`)
  return file.data
}

/** Of the key file: each names the key after it, oldest first. */
export function ownSuccessions({ keys }: Settings): readonly string[] {
  return requireKeys(keys).formerLogKeys.map(({ succession }) => succession)
}
