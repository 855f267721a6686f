"""The map component: points drawn with WebGL2, selected with a lasso, a box or a click.

``component`` draws a :class:`~themescope.webapp.map_view.component.Canvas` and turns what the browser sends into a
:class:`~themescope.webapp.map_view.scene.MapState`. The browser receives coordinates and colours, and sends shapes
and row numbers; sentence ids stay on the server.
"""
