/** @module Images of power cuts at moments of one recorded history, each looked at by itself; and histories in which a sync is missing. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { seededRandom, TEST_SEED, testSeed } from '../random.ts'
import type { TempFolder } from '../temp-folder.ts'
import { placeImage } from './check-image.ts'
import { PowerCut } from './power-cut.ts'
import { type DiskOperation, recordDisk } from './recorded-disk.ts'

export interface DiskHistory {
  /** The folder that was recorded: images of it lie elsewhere. */
  readonly root: string
  readonly operations: readonly DiskOperation[]
}

export interface RecordOptions {
  readonly folder: TempFolder
  /** Of this history: another in the same folder has another. */
  readonly name: string
  readonly folderSyncMs?: number
  /** How the program ends. Default: killed by itself. */
  readonly ends?: { readonly status: number } | undefined
}

/** Runs a program on a recorded disk; `argsFor` is told the folder that is recorded. Undefined where there is no C compiler. */
export function recorded(
  { folder, name, folderSyncMs = 0, ends }: RecordOptions,
  argsFor: (root: string) => readonly string[],
): DiskHistory | undefined {
  const root = `${realpathSync(folder.path)}/${name}`
  mkdirSync(root)
  const disk = recordDisk(folder.path, root, { folderSyncMs, name })
  if (disk === undefined) return undefined
  const { status, signal, stderr } = spawnSync(process.execPath, argsFor(root), { env: disk.env, encoding: 'utf8' })
  if (ends === undefined) assert.is(signal, 'SIGKILL', stderr)
  else assert.is(status, ends.status, stderr)
  const operations = disk.operations()
  assert.ok(operations.length > 100, 'the recording disk saw what was done')
  return { root, operations }
}

/** The same history on a disk that was not told to sync these. */
export function without(
  { root, operations }: DiskHistory,
  isDropped: (operation: DiskOperation) => boolean,
): DiskHistory {
  const left = operations.filter((operation) => !isDropped(operation))
  assert.ok(left.length < operations.length, 'there was something to drop')
  return { root, operations: left }
}

export interface Sample {
  readonly images: number
  readonly folder: TempFolder
}

/** One line for each image that is not as promised. `check` is given its folder, and what was acknowledged until then. */
export async function faultyImages(
  { root, operations }: DiskHistory,
  { images, folder }: Sample,
  check: (folder: string, acknowledged: readonly string[], image: number) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const random = seededRandom(testSeed(1))
  /** Another seed cuts the power at other moments, not only other sectors at the same. */
  const offset = TEST_SEED === 1 ? 0 : random()
  const disk = new PowerCut(root)
  const acknowledged: string[] = []
  const faulty: string[] = []
  let image = 0
  for (const [index, operation] of operations.entries()) {
    disk.apply(operation)
    if (operation.kind === 'mark') acknowledged.push(operation.path)
    for (; image + offset < ((index + 1) / operations.length) * images; image += 1) {
      const place = folder.file(`image-${image}`)
      placeImage(disk.image(random), root, place)
      const faults = await check(place, acknowledged, image)
      rmSync(place, { recursive: true, force: true })
      if (faults.length > 0)
        faulty.push(`image ${image}, after ${operation.kind} ${operation.path}: ${faults.join('; ')}`)
    }
  }
  return faulty
}
