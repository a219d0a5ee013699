/** @module Handles a WAL that SQLite would read only in part: reports it, and continues after damage only if configured to do so. */
import { constants, copyFileSync, statSync } from 'node:fs'
import { StoreOpenError } from '../event-store.ts'
import { readWalState, type WalState } from './wal-damage.ts'

export interface WalLoss extends WalState {
  readonly file: string
  /** Path of the copy of a damaged WAL that was made before the store continued without it. */
  readonly copy?: string
}

/** Must be called by the owner before the file is opened, since opening may restart the WAL. Throws `wal-damaged`. */
export function settleWalLoss(
  path: string,
  { acceptWalLoss, onWalLoss }: { readonly acceptWalLoss?: boolean; readonly onWalLoss?: (loss: WalLoss) => void },
): void {
  const file = `${path}-wal`
  const state = readWalState(file)
  if (state.kind === 'whole') return
  if (state.kind === 'torn') {
    onWalLoss?.({ ...state, file })
    return
  }
  if (acceptWalLoss !== true) {
    const advice = `put back a copy of ${path} and its -wal file; only if there is none, start once with "countersign serve --accept-wal-loss", which keeps the log aside and goes on without them`
    throw new StoreOpenError('wal-damaged', `${damageText(file, state)}: ${advice}`)
  }
  onWalLoss?.({ ...state, file, copy: keptAside(file) })
}

/** Describes the damage to a WAL that an owner may be writing; undefined if it is undamaged or changed while it was read. */
export function walLossAtRest(path: string): string | undefined {
  const file = `${path}-wal`
  const before = lastChange(file)
  const state = readWalState(file)
  return state.kind === 'damaged' && lastChange(file) === before ? damageText(file, state) : undefined
}

function lastChange(file: string): string | undefined {
  const status = statSync(file, { throwIfNoEntry: false, bigint: true })
  return status === undefined ? undefined : `${status.ino} ${status.size} ${status.mtimeNs}`
}

function damageText(file: string, { frame, lostFrames }: WalState): string {
  const lost = `the last ${lostFrames} frames of it cannot be read, and acknowledged events may be among them`
  return `${file} is damaged at frame ${frame}: ${lost}`
}

/** Copies the WAL to the first unused name. */
function keptAside(file: string): string {
  for (let number = 1; ; number += 1) {
    const copy = `${file}.damaged-${number}`
    try {
      copyFileSync(file, copy, constants.COPYFILE_EXCL)
      return copy
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
}
