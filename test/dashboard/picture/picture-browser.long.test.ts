import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FORKED_RUN, REFUSED_RUN, seedShowcase } from '../../support/dashboard-seed.ts'
import { LONG_RUN, seedLongNames } from '../../support/long-names-seed.ts'
import { chromiumPath, type OpenedBrowser, withFont, withUiBrowser } from '../../support/ui-browser.ts'

const test = suite('dashboard: the picture of a run in a browser')
const claim = chromiumPath === undefined ? test.skip : test

const FONTS = [
  '',
  '* { letter-spacing: .15em !important }',
  '* { font-family: monospace !important; font-weight: 900 !important }',
]
const PICTURES = [REFUSED_RUN, FORKED_RUN, LONG_RUN].flatMap((run) => [`${run}`, `${run}?scale=time`])

async function onEachPicture(body: (opened: OpenedBrowser, name: string) => Promise<void>): Promise<void> {
  await withUiBrowser(
    async (opened) => {
      for (const path of PICTURES) {
        for (const font of FONTS) {
          await opened.page.goto(`${opened.url}/ui/runs/${path}`)
          await withFont(opened.page, font)
          await body(opened, `${path.slice(0, 20)} ${font}`)
        }
      }
    },
    {
      seed: async (seeding) => {
        await seedShowcase(seeding)
        await seedLongNames(seeding)
      },
    },
  )
}

claim(
  'in any font each text of the picture stays in its box: a number in its sign, a name cut in a box of its own, with a title that has it whole',
  async () => {
    await onEachPicture(async ({ page }, name) => {
      const found = await page.evaluate(() => {
        const within = (inner: DOMRect, outer: DOMRect) =>
          inner.left >= outer.left - 1 && inner.right <= outer.right + 1
        const texts = [...document.querySelectorAll('.picture text')]
        // Those on paper alone have no box here: test/dashboard/fit.long.test.ts looks at them.
        const boxes = [
          ...document.querySelectorAll<SVGForeignObjectElement>('.picture foreignObject:not(.lanes-on-paper *)'),
        ]
        return {
          outside: texts
            .filter((text) => {
              const sign = text.parentElement?.querySelector('.step')?.getBoundingClientRect()
              return sign === undefined || !within(text.getBoundingClientRect(), sign)
            })
            .map(({ textContent }) => textContent),
          leaking: boxes
            .filter((box) => {
              const [label] = box.children
              if (label === undefined || box.ownerSVGElement === null) return true
              const { overflowX, whiteSpace } = getComputedStyle(label)
              const cuts =
                overflowX === 'hidden' && whiteSpace === 'nowrap' && label.getAttribute('title') === label.textContent
              const inPicture = within(box.getBoundingClientRect(), box.ownerSVGElement.getBoundingClientRect())
              return !(cuts && inPicture && within(label.getBoundingClientRect(), box.getBoundingClientRect()))
            })
            .map(({ textContent }) => textContent),
          boxes: boxes.length,
        }
      })
      assert.equal([found.outside, found.leaking], [[], []], name)
      assert.ok(found.boxes > 5, name)
    })
  },
)

claim('every sign, bar and line of the picture stands in its legend', async () => {
  await onEachPicture(async ({ page }, name) => {
    const missing = await page.evaluate(() => {
      const signs = ['.mark', '.bar', '.warned', '.superseded', '.cut', 'path.handoff', 'path.fork-line', 'path.undo']
      const lines = ['.budget-line', '.budget-reserved']
      const looks = (root: string) =>
        [...document.querySelectorAll(`${root} :is(${[...signs, ...lines].join()})`)].map((sign) => {
          const drawn = sign.matches('.mark') ? (sign.querySelector('rect, path, circle') ?? sign) : sign
          const { fill, stroke, strokeDasharray } = getComputedStyle(drawn)
          return `${fill} ${stroke} ${strokeDasharray}`
        })
      const explained = new Set(looks('.legend'))
      return looks('.run-picture').filter((look) => !explained.has(look))
    })
    assert.equal([...new Set(missing)], [], name)
  })
})

test.run()
