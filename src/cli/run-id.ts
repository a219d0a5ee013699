/** @module The run that a command names. */
import { RunId } from '../../schemas/names.ts'
import type { Arguments } from './arguments.ts'
import { usageFailure } from './failure.ts'

/** The first of the command's own arguments. Throws `CliFailure` where it is no run id. */
export function runIdOf({ positionals: [text] }: Pick<Arguments, 'positionals'>): string {
  const run = RunId.safeParse(text)
  if (!run.success) throw usageFailure(`"${text}" is no run id: ${run.error.issues[0]?.message}`)
  return run.data
}
