// Types of the map: what the server sends, and the parts of the view that its scripts share.
interface Window {
  themescopeActions?: any;
  themescopeSent?: Record<string, Map<number, any>>;
  themescopeDragged?: any;
  themescopeMaps?: any;
  themescopeViews?: any;
  themescopeLegend?: boolean;
}
type Pair = [number, number];
type Box = { left: number; top: number; width: number; height: number };
type Placed = Box & { text: string; size: number; level: number };
type Camera = { x: number; y: number; unit: number };
/** Rows to draw: `others` of them, in grey, come first. */
type Order = { rows: Uint32Array<ArrayBuffer>; others: number };
/** A tile of the quadtree; `at` is the first of its rows, or -1 while it is not loaded. */
type Tile = { level: number; x: number; y: number; start: number; count: number; at: number };
/** Points of some tiles; arrays are in base 64. */
type TileData = { tiles: number[]; places: string; kinds: string };
type PointsData = TileData & {
  digest: string;
  total: number;
  index: [level: number, x: number, y: number, start: number, count: number][];
  density: string;
  context: string;
};
type Category = { name: string; count: number; colour: string; shape: number; other?: boolean };
type Look = { classes: Category[]; opacity: number; ink: string; paper: string; grey: string; accent: string };
/** Level, text, categories, place, and key of a name. */
type Name = [level: number, text: string, kinds: number[], x: number, y: number, key: string];
type ViewData = { digest: string; look: Look; names: Name[]; loaded: TileData | null; status?: string | null };

/** levels.js */
interface Levels {
  load(): void;
  takeTiles(loaded: TileData | null): void;
  upload(): void;
  sayWhatIsDrawn(loading: number): void;
  paintGround(): void;
  image(): HTMLCanvasElement;
  movedNow(): void;
  paintShare(draw: (share: number) => void): void;
}
/** labels.js */
interface Labels {
  labelLevels(): number[];
  placeLabels(taken: Box[]): Placed[];
  placed(taken: Box[], moves: number[][], small: boolean): Placed[];
  nameable(level: number): number;
  unseen(kinds: number[]): boolean;
  labelSize(text: string, size: number): Pair;
  freeBox(size: Pair, middle: Pair, taken: Box[], moves: number[][]): Box | null;
  labelElement(text: string, size: number): HTMLElement;
  panels(): Box[];
  paintLabels(): void;
}

/** `View` in map_view.js, as far as these parts of it use it. */
interface MapView extends Levels, Labels {
  data: ViewData;
  scene: Scene;
  drawing: Drawing;
  camera: Camera;
  width: number;
  height: number;
  ratio: number;
  share: number;
  marks: string;
  complete: boolean;
  moving: boolean;
  named: boolean;
  hidden: number[];
  states: Uint8Array<ArrayBuffer>;
  asked: number | undefined;
  restTimer: number | undefined;
  taken: TileData | undefined;
  imageKey: string | undefined;
  densityImage: HTMLCanvasElement;
  sizes: Map<string, Pair>;
  placedLabels: string | undefined;
  root: HTMLElement;
  frame: HTMLElement;
  stage: HTMLElement;
  status: HTMLElement;
  unnamed: HTMLElement;
  labels: HTMLElement;
  ground: HTMLCanvasElement;
  unit(place: Pair): Pair;
  screen(place: Pair): Pair;
  fitUnit(): number;
  state(): void;
  redraw(points?: boolean): void;
  sendNow(name: string, value: object): void;
}
declare function made(tag: string, name: string, parent: HTMLElement, text?: string | number, attributes?: Record<string, string>): HTMLElement;
