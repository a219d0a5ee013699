/** @module Records again what `test/export/every-event.test.ts` compares with: `node dist/test/support/record-every-event.js`, then read the diff. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { storeOfEveryEvent } from './every-event.ts'
import { textsOfEveryEvent } from './every-event-texts.ts'
import { ROOT } from './source-root.ts'

await using store = await storeOfEveryEvent()
for (const [file, text] of Object.entries(await textsOfEveryEvent(store))) {
  writeFileSync(join(ROOT, 'test/vectors/events', file), text)
}
