import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { REFUSED_RUN } from '../support/dashboard-seed.ts'
import { rowsOf, tamper } from '../support/tamper.ts'
import { chromiumPath, withUiBrowser } from '../support/ui-browser.ts'

const test = suite('dashboard: a run with a broken seal, in a browser')
const claim = chromiumPath === undefined ? test.skip : test

const BROKEN = 8

/** One letter of one body: what somebody with the file and sqlite3 can do. */
function spoil(folder: string): void {
  const path = join(folder, 'store.db')
  const row = rowsOf(path).find(({ stream, revision }) => stream.endsWith(`.${REFUSED_RUN}`) && revision === BROKEN)
  if (row === undefined) throw new Error('the event to be altered is not there')
  tamper(path, (db) =>
    db.prepare('UPDATE events SET data = ? WHERE position = ?').run(row.data.replace('"v":', '"w":'), row.position),
  )
}

claim(
  'a run of which one event was altered says so, shows every event with its own seal, and each opens; the altered one says what does not hold (A277)',
  async () => {
    await withUiBrowser(
      async ({ page, url }) => {
        for (const width of [1440, 390]) {
          await page.setViewportSize({ width, height: 900 })
          const response = await page.goto(`${url}/ui/runs/${REFUSED_RUN}`)
          assert.is(response?.status(), 500)
          const text = (await page.locator('main').textContent()) ?? ''
          assert.match(text, new RegExp(`does not verify.*${REFUSED_RUN} @ ${BROKEN}.*countersign verify`, 's'))
          const rows = page.locator('table.events tbody tr')
          assert.ok((await rows.count()) > 30)
          const marked = await rows.filter({ hasText: 'seal broken' }).evaluateAll((each) => each.map(({ id }) => id))
          assert.equal(marked, [`event-${BROKEN}`])
          // Nothing is made of them: no picture, no sums, no deeds.
          assert.is(await page.locator('.picture, .facts, .deeds').count(), 0)
          assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width)
        }
        await page.goto(`${url}/ui/runs/${REFUSED_RUN}/events/${BROKEN}`)
        await page.locator('.proof[data-verdict="bad"]').waitFor()
        assert.match((await page.locator('.proof').textContent()) ?? '', /body/)
        await page.goto(`${url}/ui/runs/${REFUSED_RUN}/events/3`)
        await page.locator('.proof[data-verdict="good"]').waitFor()
        for (const rest of ['context', 'refusals', '?asOf=event-3', '?asOf=40']) {
          const answer = await page.goto(`${url}/ui/runs/${REFUSED_RUN}/${rest}`.replace('/?', '?'))
          assert.is(answer?.status(), 500, rest)
        }
      },
      { spoil },
    )
  },
)

test.run()
