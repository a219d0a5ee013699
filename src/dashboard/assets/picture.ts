/** Arrow keys move between the marks of the picture: it is one Tab stop, whatever the number of events. */

const BACK = new Set(['ArrowLeft', 'ArrowUp'])
const ON = new Set(['ArrowRight', 'ArrowDown'])

enableAll()
document.addEventListener('countersign:refreshed', enableAll)

function enableAll(): void {
  for (const picture of document.querySelectorAll<SVGSVGElement>('.run-picture')) enable(picture)
}

function enable(picture: SVGSVGElement): void {
  const items = [...picture.querySelectorAll<SVGAElement>('a.item')].sort((a, b) => revisionOf(a) - revisionOf(b))
  if (items.length === 0) return
  let current = 0
  const choose = (index: number): void => {
    items[current]?.setAttribute('tabindex', '-1')
    current = Math.min(items.length - 1, Math.max(0, index))
    items[current]?.setAttribute('tabindex', '0')
  }
  for (const item of items) item.setAttribute('tabindex', '-1')
  choose(current)
  picture.addEventListener('focusin', ({ target }) => {
    const index = items.indexOf(target as SVGAElement)
    if (index >= 0) choose(index)
  })
  picture.addEventListener('keydown', (event) => {
    const { key, ctrlKey, altKey, metaKey } = event
    if (ctrlKey || altKey || metaKey) return
    if (BACK.has(key)) choose(current - 1)
    else if (ON.has(key)) choose(current + 1)
    else if (key === 'Home') choose(0)
    else if (key === 'End') choose(items.length - 1)
    else return
    event.preventDefault()
    items[current]?.focus()
    items[current]?.scrollIntoView({ block: 'nearest', inline: 'center' })
  })
}

function revisionOf(item: SVGAElement): number {
  return Number(item.dataset.revision ?? 0)
}
