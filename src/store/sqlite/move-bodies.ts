/** @module The only change that the store file ever takes to a row: salt and body are replaced by the place in an archive that has them (LIFE-52). */
import { type MovedBodies, placeText } from '../archived-body.ts'
import type { Database } from './open.ts'
import { EVENTS_UPDATE } from './schema.ts'

/**
 * Moves all of them or none, in one transaction, in which the trigger that refuses updates is dropped and made again. Throws if a row has no body of its own,
 * or the driver's error: nothing has changed then, unless COMMIT itself failed.
 */
export function moveBodies(db: Database, { archive, rows }: MovedBodies): void {
  const move = db.transaction(() => {
    db.exec('DROP TRIGGER events_update')
    const update = db.prepare(`UPDATE events SET salt = x'', data = ? WHERE position = ? AND octet_length(salt) > 0`)
    for (const { position, offset, bytes } of rows) {
      const { changes } = update.run(placeText({ archive, offset, bytes }), BigInt(position))
      if (changes !== 1) throw new Error(`the event at position ${position} has no body that could be moved`)
    }
    db.exec(EVENTS_UPDATE)
  })
  move.immediate()
}

/**
 * Gives the space of moved bodies back to the file system; does nothing if none was ever moved. Takes as long as writing what is left twice, and up to twice
 * its space meanwhile, since it goes through a temporary file and the WAL.
 */
export function compactFile(db: Database): void {
  if (db.prepare('SELECT 1 FROM events WHERE octet_length(salt) = 0 LIMIT 1').get() === undefined) return
  db.exec('VACUUM')
  db.pragma('wal_checkpoint(TRUNCATE)')
}
