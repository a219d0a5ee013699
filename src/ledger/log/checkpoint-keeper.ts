/** @module Keeps checkpoints that were signed here, or by others and seen here, in the file beside the store, again and again where writing it fails. */
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
 * To be called at every turn with what was signed in it, and before anything is served that others signed. The first call adds what an earlier
 * process signed and could not keep; where others write to the store, each call that finds the log further on adds what they signed. What could
 * not be written is written at a later turn; the log has one line when that begins and one when it is over.
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

/** Checkpoints on record that the file lacks, or has an older one of. */
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
