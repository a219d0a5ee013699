/** @module Keeps checkpoints, signed by this process or seen from others, in the file next to the store, and retries if writing the file fails. */
import type { Position } from '../../store/event-store.ts'
import type { CheckpointFile } from './checkpoint-file.ts'
import type { LogDeps } from './log-deps.ts'
import type { LogProjection } from './log-projection.ts'
import { readCheckpoint } from './read-checkpoint.ts'

interface KeeperDeps {
  readonly deps: LogDeps
  readonly projection: LogProjection
  readonly origin: string
}

/**
 * The returned function is called at every turn with the notes that were signed in it, and before checkpoints that others signed are served. The
 * first call adds notes that an earlier process signed and could not keep. If others write to the store, each call that finds the log grown adds the
 * notes that they signed. Notes that could not be written are written at a later turn; one line is logged when writing starts to fail and one when it
 * works again.
 */
export function checkpointKeeper(
  checkpointFile: CheckpointFile,
  keeper: KeeperDeps,
): (signed: ReadonlyMap<string, string>) => void {
  const { log, logStore, store } = keeper.deps
  let failing = false
  let first = true
  let seen: Position | undefined
  return (signed) => {
    const end = logStore.progress()?.position
    const others = first || (store.exclusive !== true && end !== seen)
    try {
      checkpointFile.save(keeper.origin, others ? new Map([...notFiled(checkpointFile, keeper), ...signed]) : signed)
      first = false
      seen = end
      if (failing) log.info({ file: checkpointFile.path }, 'the last checkpoints are kept in their file again')
      failing = false
    } catch (error) {
      const fields = { err: error, file: checkpointFile.path }
      if (!failing) log.error(fields, 'the last checkpoints cannot be kept in their file; tried again at each turn')
      failing = true
    }
  }
}

/** Recorded checkpoints that are missing from the file, or that are newer than the ones in it. */
function notFiled(filed: CheckpointFile, { deps: { logStore }, projection }: KeeperDeps): ReadonlyMap<string, string> {
  const sizeOf = (tenant: string, note: string | undefined): number =>
    (note === undefined ? undefined : readCheckpoint(note, projection.verifiers(tenant)))?.size ?? 0
  const found = new Map<string, string>()
  for (const tenant of logStore.signedTenants()) {
    const note = logStore.log(tenant)?.note
    const isOther = note !== undefined && note !== filed.note(tenant)
    if (isOther && sizeOf(tenant, note) > sizeOf(tenant, filed.note(tenant))) found.set(tenant, note)
  }
  return found
}
