/** @module Parses the run id argument of a command. */
import { RunId } from '../../schemas/names.ts'
import type { Arguments } from './arguments.ts'
import { usageFailure } from './failure.ts'

/** The first positional argument. Throws `CliFailure` if it is not a run id. */
export function runIdOf({ positionals: [text] }: Pick<Arguments, 'positionals'>): string {
  const run = RunId.safeParse(text)
  if (!run.success) throw usageFailure(`"${text}" is no run id: ${run.error.issues[0]?.message}`)
  return run.data
}
