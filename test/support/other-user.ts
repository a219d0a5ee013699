/** @module Another user of the machine, for what root may do and others may not. */
import { spawnSync } from 'node:child_process'
import { BIN } from './command-line.ts'

/** The unprivileged user of Linux. */
export const NOBODY = 65_534

/** Root alone may become that user, who must be able to run this node and to read the programs: a clone in a private folder lets nobody in. */
export const canBeNobody = process.getuid?.() === 0 && runsAsNobody()

function runsAsNobody(): boolean {
  const script = `require('node:fs').accessSync(${JSON.stringify(BIN)}, require('node:fs').constants.R_OK)`
  return spawnSync(process.execPath, ['-e', script], { uid: NOBODY, gid: NOBODY }).status === 0
}
